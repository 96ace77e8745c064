// What the source of an image says about its kernels that neither their parameters nor their code show.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "simulator/image/kernel_image.h"

namespace cudasim::cuda_cpp {

struct DeclaredLimits {
    /// Threads of a block for which a kernel was compiled (__launch_bounds__), by its name in the image.
    std::map<std::string, std::uint64_t, std::less<>> most_threads;
    /// Blocks of a cluster along x, y and z (__cluster_dims__).
    std::map<std::string, std::array<std::uint32_t, 3>, std::less<>> clusters;
    std::uint64_t constant_bytes = 0;  ///< of all __constant__ variables
};

/// Reads the image's declarations, not its code.
[[nodiscard]] DeclaredLimits declared_limits(const image::KernelImage& image);

}  // namespace cudasim::cuda_cpp
