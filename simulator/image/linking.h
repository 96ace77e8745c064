// Device functions from elsewhere, put into the module that calls them: what nvJitLink does with PTX.
#pragma once

#include <span>
#include <stdexcept>

#include "simulator/image/kernel_image.h"

namespace cudasim::image {

/// A function is not there, is there twice, or takes other parameters than its caller gives; says which and
/// where.
struct LinkError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Adds the functions and variables of `libraries` to `module`. A caller may declare a parameter as another
/// type of the same width (a pointer for a 64-bit word, a float for a 32-bit one), or as a narrower integer.
/// @throws LinkError
void link(llvm::Module& module, std::span<const KernelImage> libraries);

/// The parts as one image: the kernels, functions and variables of all, those that are external by their
/// names.
/// @throws LinkError
[[nodiscard]] KernelImage linked(std::span<const KernelImage> parts);

}  // namespace cudasim::image
