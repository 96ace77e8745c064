// Where a CUDA toolkit is on this machine, if anywhere. Nothing of it is needed to build cudasim.
#pragma once

#include <filesystem>
#include <optional>

namespace cudasim::gpu_backend {

/// Looked for in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and beside the `ptxas` on PATH, in this order.
[[nodiscard]] std::optional<std::filesystem::path> find_libdevice();
[[nodiscard]] std::optional<std::filesystem::path> find_ptxas();

}  // namespace cudasim::gpu_backend
