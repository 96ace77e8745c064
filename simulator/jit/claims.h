// Front ends and clang promise the optimiser things (no overflow, no null, forward progress, no aliasing).
// A kernel that breaks a promise is exactly what must be reported, so every promise is taken back before
// any pass runs (C0). What carries meaning stays: byval, sret, sign and zero extension, fast-math flags.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Also drops lifetime markers, assumptions, variables' debug info and target attributes of the GPU.
void strip_claims(Compilation& compilation);

}  // namespace cudasim::jit
