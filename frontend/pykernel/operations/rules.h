// What has no row in calls/: each operation a rule with its typing beside its code. Operators:
// number_operators.cpp, tuple_operators.cpp (and `in`), other_operators.cpp (None, names, characters, dates,
// members of enumerations). attributes.cpp; items.cpp: subscripts; assignments.cpp; called_values.cpp.
#pragma once

#include <span>

#include "frontend/pykernel/emit/call_emission.h"
#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/infer/callable.h"
#include "frontend/pykernel/infer/operators.h"
#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

std::span<const Rule> number_operators();
std::span<const Rule> tuple_operators();
std::span<const Rule> other_operators();
std::span<const Rule> attributes();
std::span<const Rule> items();
std::span<const Rule> assignments();

/// Code of what is known from its type: a literal, a string.
[[nodiscard]] Emitted emit_known(CallEmission& operation);
/// Whether an operator compares values of these types: elements of tuples, of what `in` looks into.
[[nodiscard]] bool comparable(Program& program, Operator op, TypeRef left, TypeRef right);

}  // namespace cudasim::pykernel
