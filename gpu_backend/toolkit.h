// Where a CUDA toolkit is on this machine, if anywhere. Nothing of it is needed to build cudasim.
#pragma once

#include <filesystem>
#include <optional>

namespace cudasim::gpu_backend {

/// Looked for in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and beside the `ptxas` on PATH, in this order.
/// @param below_root such as "bin/ptxas"
[[nodiscard]] std::optional<std::filesystem::path> find_in_toolkit(const std::filesystem::path& below_root);
[[nodiscard]] std::optional<std::filesystem::path> find_libdevice();
[[nodiscard]] std::optional<std::filesystem::path> find_ptxas();

}  // namespace cudasim::gpu_backend
