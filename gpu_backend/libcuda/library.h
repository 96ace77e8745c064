// Finding and loading the library of NVIDIA's driver, libcuda.so.1. It is loaded when it is asked for and
// never when cudasim is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cudasim::libcuda {

/// Where the library is looked for, in the order of the members.
struct Search {
    /// The variable CUDASIM_LIBCUDA: a file. Where it is set, nothing else is tried.
    std::optional<std::filesystem::path> named;
    /// What the dynamic linker is asked for.
    std::string soname = "libcuda.so.1";
    /// Folders that have a file `soname` on systems whose dynamic linker does not know them; WSL's is last.
    std::vector<std::filesystem::path> folders;

    /// CUDASIM_LIBCUDA (empty counts as not set), and the folders of this processor's Linux systems.
    [[nodiscard]] static Search on_this_machine();
};

/// Where WSL keeps the driver of Windows for Linux programs (NVIDIA's "CUDA on WSL User Guide").
[[nodiscard]] std::filesystem::path wsl_folder();

/// A library that is loaded. It stays so until the process ends: a driver has threads that run its code.
class Library {
  public:
    /// With RTLD_LOCAL, so that its names are nobody else's. Throws Unavailable (outcomes.h): no driver where
    /// no file is found, a broken one where those that are found do not load.
    [[nodiscard]] static Library load(const Search& search);

    /// The one of this soname that the process has loaded already, by whatever path; nullopt where it has
    /// none. Nothing is loaded.
    [[nodiscard]] static std::optional<Library> loaded(const std::string& soname);

    /// Null where it exports no such function.
    [[nodiscard]] void* find(const char* symbol) const;

    /// The file that was loaded, as the dynamic linker has it.
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    explicit Library(void* handle);
    void* handle_;
    std::string path_;
};

}  // namespace cudasim::libcuda
