// A load whose value nobody needs is gone after the first pass of LLVM's. Where it would have been a finding,
// an instrumentation keeps it alive from the early point to the late one (C0).
#pragma once

#include <llvm/IR/Instructions.h>

#include <functional>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Called in early(). Keeps the loads for which `wanted` holds, except those of local variables. Several
/// instrumentations may keep the same load.
void keep_loads(Compilation& compilation, const std::function<bool(const llvm::LoadInst&)>& wanted);

/// Whether the function is one that keep_loads() has made: calls of it do not count as calls of the kernel's.
[[nodiscard]] bool keeps_loads(const llvm::Function& function);

/// Called after the last late(). The optimiser may do with these loads what it wants from then on.
void release_kept_loads(Compilation& compilation);

}  // namespace cudasim::jit
