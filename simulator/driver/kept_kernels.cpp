// See kept_kernels.h.
#include "simulator/driver/kept_kernels.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "simulator/jit/object_cache.h"
#include "simulator/jit/object_code.h"

namespace cudasim::driver {
namespace {

std::filesystem::path from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// $HOME; where it is not set at all, what the user database says.
std::filesystem::path home_folder() {
    if (std::getenv("HOME") != nullptr) return from_environment("HOME");
    std::array<char, 4096> buffer{};
    struct passwd entry{};
    struct passwd* found = nullptr;
    if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
        return {};
    return entry.pw_dir;
}

}  // namespace

std::filesystem::path kept_kernels_folder(const std::string& chosen) {
    if (chosen == "~" || chosen.starts_with("~/")) {
        if (auto home = home_folder(); !home.empty())
            return home / chosen.substr(std::min<std::size_t>(chosen.size(), 2));
    }
    if (!chosen.empty()) return std::filesystem::absolute(chosen).lexically_normal();
    // The XDG Base Directory Specification: relative paths are ignored.
    if (const auto base = from_environment("XDG_CACHE_HOME"); base.is_absolute()) return base / "cudasim";
    const auto home = home_folder();
    return home.is_absolute() ? home / ".cache" / "cudasim" : std::filesystem::path();
}

std::string keep_compiled_kernels(const KeptKernels& settings) {
    const auto folder = kept_kernels_folder(settings.folder);
    const auto lock = jit::lock_compiler();
    if (!settings.wanted || settings.most_bytes == 0 || folder.empty()) {
        jit::ObjectCache::instance().switch_off();
        return {};
    }
    const auto problem = jit::ObjectCache::instance().use(folder, settings.most_bytes);
    return problem && (problem->unsafe || !settings.folder.empty()) ? problem->what : std::string();
}

}  // namespace cudasim::driver
