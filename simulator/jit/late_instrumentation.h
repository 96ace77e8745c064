// The late instrumentation point (C0): after inlining, with local variables in registers, before anything
// that could remove, merge or reorder accesses.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Every loop burns fuel at its back-edge and lets other threads run when it is used up (E5, E11).
void insert_polls(Compilation& compilation);

/// Shadow lookups for accesses that no declared check guards (C1); redzones around local variables that
/// need them. Removes what kept loads alive since the early point.
void insert_memory_checks(Compilation& compilation);

}  // namespace cudasim::jit
