// dlopen() of the candidates, one after another.
#include "gpu_backend/libcuda/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string_view>
#include <system_error>

#include "gpu_backend/libcuda/outcomes.h"

namespace cudasim::libcuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view advice_for_named =
    "Nothing else was tried: unset the variable to search the system, or let it name the libcuda.so.1 of "
    "NVIDIA's driver.";

void* open(const std::string& file) {
    dlerror();
    return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::string last_error() {
    const char* text = dlerror();
    return text != nullptr ? text : "the dynamic linker gives no reason";
}

/// Whether the dynamic linker's words mean that it knows no file of this name; for a library that exists they
/// name another file, or another reason. They are not translated: neither cudasim nor Python asks for that.
bool says_absent(std::string_view error, std::string_view soname) {
    return error.starts_with(soname) && error.ends_with("No such file or directory");
}

bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
}

std::string joined(const std::vector<fs::path>& folders) {
    std::string text;
    for (const auto& folder : folders) text += (text.empty() ? "" : ", ") + folder.string();
    return text;
}

void* open_named(const fs::path& named) {
    std::error_code ignored;
    const fs::path file = fs::absolute(named, ignored);
    if (!is_there(file))
        throw Unavailable(Outcome::no_driver, "CUDASIM_LIBCUDA names " + file.string() +
                                                  ", which does not exist. " + std::string(advice_for_named));
    if (void* handle = open(file.string())) return handle;
    throw Unavailable(Outcome::broken_driver, "The CUDA driver that CUDASIM_LIBCUDA names does not load: " +
                                                  last_error() + ". " + std::string(advice_for_named));
}

}  // namespace

fs::path wsl_folder() {
    return "/usr/lib/wsl/lib";
}

Search Search::on_this_machine() {
    Search search;
    if (const char* value = std::getenv("CUDASIM_LIBCUDA"); value != nullptr && *value != '\0')
        search.named = value;
    search.folders = {
#if defined(__x86_64__)
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu/nvidia/current",  // Debian and its kin
#elif defined(__aarch64__)
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu/nvidia/current",
        "/usr/lib/aarch64-linux-gnu/nvidia",
        "/usr/lib/aarch64-linux-gnu/tegra",  // Jetson
#endif
        "/usr/lib64",
        "/usr/lib64/nvidia",
        "/usr/lib",  // Fedora, SUSE, Arch
        "/usr/local/nvidia/lib64",
        "/usr/local/nvidia/lib",   // containers of Kubernetes
        "/run/opengl-driver/lib",  // NixOS
        wsl_folder(),
    };
    return search;
}

Library Library::load(const Search& search) {
    if (search.named) return Library(open_named(*search.named));

    std::string failures;
    const auto note_failure = [&](const std::string& error) {
        failures += (failures.empty() ? "" : "; ") + error;
    };
    if (void* handle = open(search.soname)) return Library(handle);
    if (const std::string error = last_error(); !says_absent(error, search.soname)) note_failure(error);
    for (const auto& folder : search.folders) {
        const fs::path file = folder / search.soname;
        if (!is_there(file)) continue;
        if (void* handle = open(file.string())) return Library(handle);
        note_failure(last_error());
    }
    if (!failures.empty())
        throw Unavailable(Outcome::broken_driver,
                          "The CUDA driver of this machine does not load: " + failures +
                              ". Install NVIDIA's driver again, or let CUDASIM_LIBCUDA name another file.");
    throw Unavailable(Outcome::no_driver,
                      "No CUDA driver was found: neither the dynamic linker nor any of the folders " +
                          joined(search.folders) + " has " + search.soname +
                          ". It comes with NVIDIA's driver, and into a container with the option --gpus of "
                          "docker and podman. Where it lies elsewhere, let CUDASIM_LIBCUDA name the file.");
}

std::optional<Library> Library::loaded(const std::string& soname) {
    void* handle = dlopen(soname.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == nullptr) return std::nullopt;
    return Library(handle);
}

Library::Library(void* handle) : handle_(handle) {
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) path_ = map->l_name;
}

void* Library::find(const char* symbol) const {
    return dlsym(handle_, symbol);
}

}  // namespace cudasim::libcuda
