// Images of unknown origin: what is not believed of them.
#pragma once

#include "simulator/image/kernel_image.h"

namespace cudasim::image {

/// The image without the marks by which front ends and the compiler say that an access needs no check
/// (declared_checks.h, in_bounds_mark; marks::internal in simulator/jit/compilation.h). All of its accesses
/// are checked where memory checks are on. It has another hash. @throws ImageError
[[nodiscard]] KernelImage without_claims(const KernelImage& image);

}  // namespace cudasim::image
