// The search for a CUDA toolkit; asked at run time, so that one build serves machines with and without.

#include "gpu_backend/toolkit.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace cudasim::gpu_backend {
namespace {

namespace fs = std::filesystem;

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

std::vector<fs::path> toolkit_roots() {
    std::vector<fs::path> roots;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const char* value = std::getenv(variable); value && *value) roots.emplace_back(value);
    }
    roots.emplace_back("/usr/local/cuda");
    std::error_code ignored;
    for (const auto& folder : folders_on_path()) {
        const auto real = fs::canonical(folder / "ptxas", ignored);
        if (!ignored) roots.push_back(real.parent_path().parent_path());
    }
    return roots;
}

}  // namespace

std::optional<fs::path> find_in_toolkit(const fs::path& below_root) {
    std::error_code ignored;
    for (const auto& root : toolkit_roots()) {
        if (fs::is_regular_file(root / below_root, ignored)) return root / below_root;
    }
    return std::nullopt;
}

std::optional<fs::path> find_libdevice() {
    return find_in_toolkit("nvvm/libdevice/libdevice.10.bc");
}

std::optional<fs::path> find_ptxas() {
    return find_in_toolkit("bin/ptxas");
}

}  // namespace cudasim::gpu_backend
