// KernelImage → PTX through LLVM's NVPTX back end: the same kernel that the simulator runs, for a real GPU.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "simulator/image/kernel_image.h"

namespace cudasim::gpu_backend {

struct PtxOptions {
    std::string architecture = "sm_75";  ///< the oldest that CUDA 13's ptxas accepts
    bool fma_contraction = false;        ///< fuse where the IR carries `contract` (V5); the same as in jit
    bool link_libdevice = true;          ///< with CUDA's maths library, where a toolkit is found at run time
};

/// The user's error: what was asked for cannot be turned into PTX.
struct PtxError : std::runtime_error {
    enum class Code { unknown_kernel, unknown_architecture, unsupported_code, libdevice };
    PtxError(Code code, const std::string& message) : std::runtime_error(message), code(code) {}
    Code code;
};

/// PTX with one entry, `ptx_name(kernel)`. Declared checks (simulator/image/checks.def) are replaced as their
/// table says. Calls of `__nv_*` stay external where no CUDA toolkit with a libdevice is found.
/// @throws PtxError, image::ImageError
[[nodiscard]] std::string to_ptx(const image::KernelImage& image, std::string_view kernel,
                                 const PtxOptions& options = {});

/// The name of a kernel's entry: characters that PTX does not allow in an identifier (PTX ISA, section
/// "Identifiers") become `_`.
[[nodiscard]] std::string ptx_name(std::string_view kernel);

}  // namespace cudasim::gpu_backend
