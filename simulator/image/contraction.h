// What the option "fma" means (V5), once for both back ends: which multiplications and additions of an image
// become fused ones. Decided on the image's own SSA form, so that neither the optimisation level nor the
// checks that are compiled in nor the processor have a say in results.
#pragma once

#include <functional>
#include <vector>

namespace llvm {
class Instruction;
class Module;
class Value;
}  // namespace llvm

namespace cudasim::image {

/// a * b + c, a * b - c and c - a * b become one llvm.fma where both operations allow contraction and nothing
/// else uses the product. Afterwards no operation allows contraction any more (fast-math ones keep their
/// flags otherwise). Expects local variables promoted to SSA values.
/// @param no_use whether a user of a product counts as none
void contract_multiply_adds(
    llvm::Module& module,
    const std::function<bool(const llvm::Value&)>& no_use = [](const llvm::Value&) { return false; });

/// The additions and subtractions that contract_multiply_adds() would replace, in the order in which they
/// stand.
[[nodiscard]] std::vector<const llvm::Instruction*> multiply_adds(const llvm::Module& module);

}  // namespace cudasim::image
