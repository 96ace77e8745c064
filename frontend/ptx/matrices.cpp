// Matrices that a warp multiplies together (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
#include "frontend/ptx/translation.h"

namespace cudasim::ptx {

std::span<const Row> matrix_rows() {
    return {};
}

}  // namespace cudasim::ptx
