// Compiled kernels on disk, as the options cache, cache_dir and cache_size say
// (simulator/jit/object_cache.h). Python has its own way to the same folder
// (frontend/python/cudasim/cache.py), for options that change.
#pragma once

#include <cstdint>
#include <string>

namespace cudasim::driver {

struct KeptKernels {
    bool wanted = true;       ///< option cache
    std::string folder = {};  ///< option cache_dir; empty: $XDG_CACHE_HOME/cudasim, else ~/.cache/cudasim
    std::uint64_t most_bytes = 0;  ///< option cache_size; 0: nothing is kept
};

/// From now on. @return why they are not kept although that was asked for, or because the folder is not safe;
/// else empty
std::string keep_compiled_kernels(const KeptKernels& settings);

}  // namespace cudasim::driver
