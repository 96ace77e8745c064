// What clang's device pass writes, made into an image: with the texts of the source files that debug
// information names.
#pragma once

#include <stdexcept>
#include <string>

#include "frontend/cuda_cpp/images/embedded_image.h"

namespace cudasim::cuda_cpp {

/// Inline PTX that the simulator cannot translate: what() is complete lines, `file:line:column: error: text`.
struct SourceErrors : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct DeviceCode {
    /// The folder whose files are not the user's: their texts are left out.
    std::string toolkit;
    /// Other images of the program may use its functions (nvcc -dc). Else those that no kernel needs are left
    /// out.
    bool relocatable = false;
};

/// @param bitcode of a compiler that this process has started itself
/// @throws image::ImageError; SourceErrors
[[nodiscard]] EmbeddedImage image_of_bitcode(const std::string& bitcode, const DeviceCode& about);

}  // namespace cudasim::cuda_cpp
