// datetime64 and timedelta64: numbers of a unit since 1970, or of a unit; the smallest int64 is NaT. Rules:
// NumPy's reference, "Datetimes and Timedeltas"; which operators there are is a fact about Numba's CUDA
// target.
#pragma once

#include "frontend/pykernel/emission.h"

namespace cudasim::pykernel {

/// The type of an operator's value where an operand is a date or a duration; null where there is no such
/// operator.
[[nodiscard]] TypeRef date_operation_type(TypeTable& types, Operator op, TypeRef left, TypeRef right);
[[nodiscard]] Emitted emit_date_operation(FunctionEmitter& e, Operator op, const Emitted& left,
                                          const Emitted& right);

/// -duration, abs(duration).
[[nodiscard]] Emitted negated_duration(FunctionEmitter& e, const Emitted& duration);
[[nodiscard]] Emitted absolute_duration(FunctionEmitter& e, const Emitted& duration);
/// The earlier or later, smaller or larger, of two of one type: NaT when one is.
[[nodiscard]] Emitted date_extremum(FunctionEmitter& e, const Emitted& a, const Emitted& b, bool want_max);
[[nodiscard]] llvm::Value* is_nat(FunctionEmitter& e, const Emitted& date);

}  // namespace cudasim::pykernel
