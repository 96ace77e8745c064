// The programs that nvcc starts, and the folders it takes headers and libraries from.
#pragma once

#include <filesystem>
#include <string>

#include "frontend/cuda_cpp/driver/options.h"

namespace cudasim::nvcc {

/// The version of CUDA whose interface this toolkit has.
inline constexpr int cuda_major = 13, cuda_minor = 0, cuda_build = 88;

struct Toolchain {
    std::filesystem::path toolkit;        ///< the folder that looks like a CUDA toolkit
    std::filesystem::path clang;          ///< clang++ 19; empty until find_clang()
    std::filesystem::path clang_headers;  ///< its own: …/lib/clang/19/include
    std::string host_compiler, archiver;

    [[nodiscard]] std::string include() const { return toolkit / "include"; }
    [[nodiscard]] std::string libraries() const { return toolkit / "lib64"; }

    /// @throws Fatal if it is not installed; the message names the package
    void find_clang();
    /// Whether compilers may read a folder of headers that a user names: not one of an installed CUDA
    /// toolkit.
    [[nodiscard]] bool allows(const std::string& include_folder) const;
};

/// Also takes folders of installed CUDA toolkits out of CPATH and its kin, for the compilers that are
/// started.
[[nodiscard]] Toolchain toolchain(const CommandLine& line);

}  // namespace cudasim::nvcc
