// The search for a CUDA toolkit; asked at run time, so that one build serves machines with and without.

#include "gpu_backend/toolkit.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>

namespace cudasim::gpu_backend {
namespace {

namespace fs = std::filesystem;

constexpr const char* below_toolkit = "nvvm/libdevice/libdevice.10.bc";

/// Below a package folder: where NVIDIA's wheels nvidia-nvvm (CUDA 13), nvidia-cuda-nvcc-cu12 and the older
/// ones of other names have it.
constexpr const char* below_packages[] = {
    "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
    "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
    "nvidia/cuda_nvvm/nvvm/libdevice/libdevice.10.bc",
};
constexpr const char* below_conda[] = {"nvvm/libdevice/libdevice.10.bc", "lib/libdevice.10.bc",
                                       "lib/cuda/nvvm/libdevice/libdevice.10.bc"};
constexpr const char* of_debian[] = {"/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc",
                                     "/usr/lib/cuda/nvvm/libdevice/libdevice.10.bc"};
constexpr const char* of_triton = "triton/backends/nvidia/lib/libdevice.10.bc";

std::mutex package_folders_lock;
std::vector<fs::path>& package_folders() {
    static std::vector<fs::path> folders;
    return folders;
}

std::vector<fs::path> folders_on_path() {
    std::vector<fs::path> folders;
    const char* value = std::getenv("PATH");
    std::string rest = value ? value : "";
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        folders.emplace_back(rest.substr(0, colon));
        rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
    return folders;
}

void add_from_environment(std::vector<fs::path>& roots, std::initializer_list<const char*> variables) {
    for (const char* variable : variables) {
        if (const char* value = std::getenv(variable); value && *value) roots.emplace_back(value);
    }
}

std::vector<fs::path> installed_toolkits() {
    std::vector<fs::path> roots{"/usr/local/cuda"};
    std::error_code ignored;
    for (const auto& folder : folders_on_path()) {
        const auto real = fs::canonical(folder / "ptxas", ignored);
        if (!ignored) roots.push_back(real.parent_path().parent_path());
    }
    return roots;
}

/// Behind `prefix` of a folder's name: 13.0 of cuda-13.0, as numbers.
std::vector<unsigned long> version_behind(const std::string& name, std::size_t prefix) {
    std::vector<unsigned long> numbers;
    const char* rest = name.c_str() + prefix;
    while (*rest >= '0' && *rest <= '9') {
        char* end = nullptr;
        numbers.push_back(std::strtoul(rest, &end, 10));
        rest = *end == '.' ? end + 1 : end;
    }
    return numbers;
}

/// /usr/local/cuda-13.0 and its like, the newest first.
std::vector<fs::path> numbered_toolkits() {
    constexpr std::string_view prefix = "cuda-";
    std::vector<fs::path> roots;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/usr/local", ignored)) {
        if (entry.path().filename().string().starts_with(prefix)) roots.push_back(entry.path());
    }
    std::ranges::sort(roots, std::greater<>(), [&](const fs::path& root) {
        return version_behind(root.filename().string(), prefix.size());
    });
    return roots;
}

std::vector<fs::path> places_of_libdevice() {
    std::vector<fs::path> chosen, places, conda;
    add_from_environment(chosen, {"CUDA_HOME", "CUDA_PATH"});
    for (const auto& root : chosen) places.push_back(root / below_toolkit);
    std::vector<fs::path> packages;
    {
        const std::lock_guard lock(package_folders_lock);
        packages = package_folders();
    }
    for (const auto& folder : packages) {
        for (const char* below : below_packages) places.push_back(folder / below);
    }
    add_from_environment(conda, {"CONDA_PREFIX"});
    for (const auto& root : conda) {
        for (const char* below : below_conda) places.push_back(root / below);
    }
    for (const auto& root : installed_toolkits()) places.push_back(root / below_toolkit);
    for (const auto& root : numbered_toolkits()) places.push_back(root / below_toolkit);
    places.insert(places.end(), std::begin(of_debian), std::end(of_debian));
    for (const auto& folder : packages) places.push_back(folder / of_triton);
    return places;
}

std::optional<fs::path> first_file(const std::vector<fs::path>& paths) {
    std::error_code ignored;
    const auto found = std::ranges::find_if(
        paths, [&ignored](const fs::path& path) { return fs::is_regular_file(path, ignored); });
    return found == paths.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<fs::path> find_in_toolkit(const fs::path& below_root) {
    std::vector<fs::path> roots;
    add_from_environment(roots, {"CUDA_HOME", "CUDA_PATH"});
    std::ranges::copy(installed_toolkits(), std::back_inserter(roots));
    for (auto& root : roots) root /= below_root;
    return first_file(roots);
}

std::optional<fs::path> find_ptxas() {
    return find_in_toolkit("bin/ptxas");
}

std::optional<fs::path> find_libdevice() {
    return first_file(places_of_libdevice());
}

void set_package_folders(std::vector<fs::path> folders) {
    const std::lock_guard lock(package_folders_lock);
    package_folders() = std::move(folders);
}

}  // namespace cudasim::gpu_backend
