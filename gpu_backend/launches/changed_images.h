// Kernels with one thing changed, for experiments (experiments.h).
#pragma once

#include <optional>

#include "simulator/image/kernel_image.h"

namespace cudasim::gpu_launches {

/// Local variables start as zeros, and not as poison. nullopt where there are none. @throws
/// image::ImageError
[[nodiscard]] std::optional<image::KernelImage> with_zeroed_locals(const image::KernelImage& image);

/// Arithmetic without fast-math flags ("Fast-Math Flags" in the LLVM Language Reference), but for
/// `contract`, which the option "fma" is about. nullopt where there are none. @throws image::ImageError
[[nodiscard]] std::optional<image::KernelImage> without_fast_math(const image::KernelImage& image);

}  // namespace cudasim::gpu_launches
