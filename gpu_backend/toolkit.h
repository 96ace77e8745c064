// Where the files of a CUDA toolkit, and CUDA's libdevice, are on this machine, if anywhere. Nothing of them
// is needed to build cudasim.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace cudasim::gpu_backend {

/// Looked for in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and beside the `ptxas` on PATH, in this order.
/// @param below_root such as "bin/ptxas"
[[nodiscard]] std::optional<std::filesystem::path> find_in_toolkit(const std::filesystem::path& below_root);
[[nodiscard]] std::optional<std::filesystem::path> find_ptxas();

/// libdevice.10.bc. Looked for in the toolkits that $CUDA_HOME and $CUDA_PATH name, NVIDIA's wheels in the
/// package folders, the conda environment ($CONDA_PREFIX), the other toolkits, /usr/local/cuda-* (the newest
/// first), Debian's folders, and triton's copy in the package folders, in this order: what a user has chosen
/// comes before what the system has.
[[nodiscard]] std::optional<std::filesystem::path> find_libdevice();

/// The folders that the host program's packages lie in (Python's sys.path), which find_libdevice() searches.
/// Any thread may call it, at any time; the last call counts.
void set_package_folders(std::vector<std::filesystem::path> folders);

}  // namespace cudasim::gpu_backend
