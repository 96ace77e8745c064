// What the option "fma" means (V5), once for both back ends: which multiplications and additions of an image
// become fused ones. Decided on the image's own SSA form, so that neither the optimisation level nor the checks
// that are compiled in nor the processor have a say in results.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::image {

/// a * b + c, a * b - c and c - a * b become one llvm.fma where both operations allow contraction and nothing
/// else uses the product. Afterwards no operation allows contraction any more (fast-math ones keep their flags
/// otherwise). Expects local variables promoted to SSA values.
void contract_multiply_adds(llvm::Module& module);

}  // namespace cudasim::image
