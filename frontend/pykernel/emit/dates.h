// Code for datetime64 and timedelta64 (types/date_types.h). The smallest int64 is NaT.
#pragma once

#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/types/date_types.h"

namespace cudasim::pykernel {

[[nodiscard]] Emitted emit_date_operation(FunctionEmitter& e, Operator op, const Emitted& left,
                                          const Emitted& right, TypeRef result);

/// -duration, abs(duration).
[[nodiscard]] Emitted negated_duration(FunctionEmitter& e, const Emitted& duration);
[[nodiscard]] Emitted absolute_duration(FunctionEmitter& e, const Emitted& duration);
/// The earlier or later, smaller or larger, of two of one type: NaT when one is.
[[nodiscard]] Emitted date_extremum(FunctionEmitter& e, const Emitted& a, const Emitted& b, bool want_max);
[[nodiscard]] llvm::Value* is_nat(FunctionEmitter& e, const Emitted& date);

}  // namespace cudasim::pykernel
