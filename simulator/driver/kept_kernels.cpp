// See kept_kernels.h.
#include "simulator/driver/kept_kernels.h"

#include <cstdlib>
#include <filesystem>

#include "simulator/jit/object_cache.h"
#include "simulator/jit/object_code.h"

namespace cudasim::driver {
namespace {

std::filesystem::path from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Empty where there is no home directory.
std::filesystem::path folder_of(const std::string& chosen) {
    if (chosen.starts_with("~/")) return from_environment("HOME") / chosen.substr(2);
    if (!chosen.empty()) return std::filesystem::absolute(chosen);
    // The XDG Base Directory Specification: relative paths are ignored.
    if (const auto base = from_environment("XDG_CACHE_HOME"); base.is_absolute()) return base / "cudasim";
    const auto home = from_environment("HOME");
    return home.is_absolute() ? home / ".cache" / "cudasim" : std::filesystem::path();
}

}  // namespace

std::string keep_compiled_kernels(const KeptKernels& settings) {
    const auto folder = folder_of(settings.folder);
    const auto lock = jit::lock_compiler();
    if (!settings.wanted || settings.most_bytes == 0 || folder.empty()) {
        jit::ObjectCache::instance().switch_off();
        return {};
    }
    const auto problem = jit::ObjectCache::instance().use(folder, settings.most_bytes);
    return problem && (problem->unsafe || !settings.folder.empty()) ? problem->what : std::string();
}

}  // namespace cudasim::driver
