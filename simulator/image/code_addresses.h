// Addresses that a kernel has in its code: a device array that a function in Python takes from outside is a
// constant in its image.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/image/kernel_image.h"

namespace cudasim::image {

/// The 64-bit constants in the image's functions and in the initial values of its variables that do not fit
/// into 32 bits, ascending, each once. They may be addresses; the caller knows where memory is. Images that
/// were asked about last are remembered, so that repeated launches cost a hash of their bitcode.
/// @throws ImageError
[[nodiscard]] std::vector<std::uint64_t> wide_constants(const KernelImage& image);

}  // namespace cudasim::image
