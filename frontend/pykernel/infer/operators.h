// What an operator means for operands of some types: the first rule of operations/ that is for them.
#pragma once

#include <span>

#include "frontend/pykernel/infer/callable.h"
#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

/// In the order in which they are tried.
[[nodiscard]] std::span<const Rule* const> binary_rules();
[[nodiscard]] std::span<const Rule* const> unary_rules();

/// Without a result where Numba has no such operator. @param at the instruction that it belongs to
[[nodiscard]] Resolution find_binary(Program& program, const Instruction& at, Operator op, TypeRef left,
                                     TypeRef right);
/// @throws SourceError (TypingError) where Numba has no such operator
[[nodiscard]] Resolution resolve_binary(Program& program, const Instruction& at, Operator op, TypeRef left,
                                        TypeRef right);
[[nodiscard]] Resolution resolve_unary(Program& program, const Instruction& at, Operator op, TypeRef operand);
/// The name in Python's module operator, by which Numba calls an operator.
[[nodiscard]] const char* function_name(Operator op);
/// Refuses types called with one number (np.float32(x)) that have no conversion from it.
void check_castable(TypeRef from, TypeRef target, Location place);
/// Refuses what cannot be a condition.
void check_condition(TypeRef type, Location place);

}  // namespace cudasim::pykernel
