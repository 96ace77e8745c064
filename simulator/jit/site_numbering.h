// The last pass over the IR: every call of a hook learns its site, an index into CompiledKernel::sites.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Calls of one hook at one place of the source (copies that inlining, unrolling or jump threading made of
/// one another) share a site; barriers are told apart by which barrier of the source they are, too.
/// Sets Compilation::waits.
void number_sites(Compilation& compilation);

}  // namespace cudasim::jit
