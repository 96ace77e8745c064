// What every kernel gets at the early instrumentation point (C0): what the optimiser would otherwise fold
// away or turn into undefined behaviour gets its meaning here, on the IR that the front end wrote. These
// passes define what a kernel computes, so they are not an Instrumentation that a launch may leave out.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Expands the calls of simulator/image/checks.def into inline tests.
void expand_declared_checks(Compilation& compilation);

/// Integer division by zero, INT_MIN / -1, shifts by the width and more, float-to-integer overflow: finding
/// or PTX result (V2, C3).
void define_arithmetic(Compilation& compilation);

/// Traps and code that must not be reached become findings; local variables start as poison (V3).
void define_control_and_memory(Compilation& compilation);

}  // namespace cudasim::jit
