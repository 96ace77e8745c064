// Compiled kernels on disk, as the options cache, cache_dir and cache_size say
// (simulator/jit/object_cache.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace cudasim::driver {

struct KeptKernels {
    bool wanted = true;            ///< option cache
    std::string folder = {};       ///< option cache_dir
    std::uint64_t most_bytes = 0;  ///< option cache_size; 0: nothing is kept
};

/// Where they are kept: `chosen` (option cache_dir; a leading ~ is the home directory), else
/// $XDG_CACHE_HOME/cudasim, else ~/.cache/cudasim. Empty where there is no home directory.
std::filesystem::path kept_kernels_folder(const std::string& chosen);

/// From now on. @return why they are not kept although that was asked for, or because the folder is not safe;
/// else empty
std::string keep_compiled_kernels(const KeptKernels& settings);

}  // namespace cudasim::driver
