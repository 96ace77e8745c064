// Which types an operator takes and what it gives, for all kinds of values: numbers (promotion.h), tuples,
// None, optional values, strings and types known while compiling.
#pragma once

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

/// @throws SourceError (TypingError) where Numba has no such operator
[[nodiscard]] TypeRef binary_type(Program& program, Operator op, TypeRef left, TypeRef right, Location place);
[[nodiscard]] TypeRef unary_type(Program& program, Operator op, TypeRef operand, Location place);
/// Refuses types called with one number (np.float32(x)) that have no conversion from it.
void check_castable(TypeRef from, TypeRef target, Location place);
/// Refuses what cannot be a condition.
void check_condition(TypeRef type, Location place);

}  // namespace cudasim::pykernel
