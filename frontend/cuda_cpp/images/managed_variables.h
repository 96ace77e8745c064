// Variables that are declared __managed__ (CUDA C++ Programming Guide, "Managed Memory"): host code and
// kernels use one and the same memory. Here that is the host's variable, whose address kernels are told when
// their image is loaded: in the image a variable x becomes a pointer, __cudasim_managed_x, and every use of
// x loads it.
//
// cuda_runtime.h declares the variables as __device__ in a section (ptx::managed_section), which both of
// clang's passes keep. clang leaves the host's variable without its initial value; the image has it. Host
// code that NVIDIA's nvcc made has a pointer to the variable instead, and its PTX marks the variable:
// .attribute(.managed).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/image/kernel_image.h"

namespace cudasim::cuda_cpp {

/// The pointer's name, for a variable by its mangled name.
[[nodiscard]] std::string managed_pointer_name(const std::string& variable);

/// Rewrites the uses of managed variables. @return whether there are any
/// @throws image::ImageError for uses that cannot be, in the initial values of other variables
bool make_managed(llvm::Module& module);

/// The same for what PTX was read into.
[[nodiscard]] image::KernelImage with_managed_variables(const image::KernelImage& image);

struct ManagedVariable {
    std::string name;              ///< mangled
    std::vector<std::byte> value;  ///< initial
};
/// Those that an image defines.
[[nodiscard]] std::vector<ManagedVariable> managed_variables(const image::KernelImage& image);

}  // namespace cudasim::cuda_cpp
