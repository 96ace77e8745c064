// Integer operations that PTX defines for every operand and LLVM IR does not, for whoever makes code of a
// kernel (V2).
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <vector>

namespace cudasim::image {

/// sdiv, udiv, srem, urem.
[[nodiscard]] bool is_division(const llvm::Instruction& instruction);

/// Zero as divisor: all bits of the result are set, as on a GPU (docs/gpu_results.md, "Faults"). PTX leaves
/// the result open, and in LLVM IR the division is undefined behaviour.
void define_division_by_zero(llvm::BinaryOperator& division);

/// -1 as divisor of a signed division: LLVM's result is undefined for the smallest dividend, PTX's wraps.
void define_signed_overflow(llvm::BinaryOperator& division);

/// Amounts of the width and more: all bits leave (shl, lshr) or the sign fills (ashr).
void define_shift(llvm::BinaryOperator& shift);

/// Metadata of a truncation: with the conversion of a float that it cuts it is one, to a small integer.
inline constexpr const char* cut_conversion_mark = "cudasim.cut_conversion";

/// One scalar operation per element of a vector operation, which is replaced; else the operation itself.
[[nodiscard]] std::vector<llvm::Instruction*> scalarised(llvm::Instruction& instruction);

}  // namespace cudasim::image
