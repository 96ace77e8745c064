// What tests of PTX have in common: the beginning of an image's text, and its PTX.
#pragma once

#include <string>

#include "gpu_backend/ptx.h"

namespace cudasim::gpu_backend {

inline const std::string header = R"(target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
)";

inline const std::string k_is_a_kernel = "!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n";

inline std::string ptx_of(const std::string& text, const std::string& kernel,
                          const PtxOptions& options = {}) {
    return to_ptx(image::KernelImage::from_ir_text(text), kernel, options);
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace cudasim::gpu_backend
