// Warp operations that a lane of the mask may leave out: `if (lane < 16) __shfl_sync(0xffffffff, ...);`.
// Every lane that the mask names and that has not ended has to execute the operation (CUDA C++ Programming
// Guide, "Warp Shuffle Functions"). A lane that leaves it out and goes on has not ended; one that returns
// early has. What tells them apart is whether the lane came to code that all lanes come to after the
// operation, and that does something. Calls of hook `passes` are put there.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// To be called when functions are inlined, before accesses are instrumented. number_sites() gives the hooks
/// their operands and sets Compilation::skippable_sites.
void mark_skippable_operations(Compilation& compilation);

}  // namespace cudasim::jit
