// What a thread's local variables need, against what a GPU gives it. ptxas compiles any amount and the driver
// refuses to launch it; here the kernel is refused before code generation, which could not address such
// frames.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Adds up the local variables along the worst path of calls, as the GPU's compiler does; a recursive
/// function counts once. Call after the optimiser, which removes variables that nothing reads.
/// @throws ResourceError naming the kernel and the largest variable
void check_local_memory(const Compilation& compilation);

}  // namespace cudasim::jit
