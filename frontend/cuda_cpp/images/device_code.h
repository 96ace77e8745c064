// What clang's device pass writes, made into an image: with the texts of the source files that debug
// information names.
#pragma once

#include <string>
#include <string_view>

#include "simulator/image/kernel_image.h"

namespace cudasim::cuda_cpp {

/// @param bitcode of a compiler that this process has started itself
/// @param toolkit the folder whose files are not the user's: their texts are left out
/// @throws image::ImageError
[[nodiscard]] image::KernelImage image_of_bitcode(const std::string& bitcode, std::string_view toolkit);

}  // namespace cudasim::cuda_cpp
