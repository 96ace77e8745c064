// The early instrumentation point (C0): what the optimiser would otherwise fold away or turn into undefined
// behaviour gets its meaning here, on the IR that the front end wrote.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Expands the calls of simulator/image/checks.def into inline tests.
void expand_declared_checks(Compilation& compilation);

/// Integer division by zero, INT_MIN / -1, shifts by the width and more, float-to-integer overflow: finding
/// or PTX result (V2, C3).
void define_arithmetic(Compilation& compilation);

/// Traps and code that must not be reached become findings; local variables start as poison (V3); loads
/// whose value nobody needs stay until they were checked.
void define_control_and_memory(Compilation& compilation);

/// Prefix of the functions that keep loads alive between the early and the late point.
inline constexpr const char* keep_prefix = "cudasim.keep.";

}  // namespace cudasim::jit
