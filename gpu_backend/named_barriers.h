// Barriers for some of a block's threads, for which LLVM 19 has no intrinsics: bar.arrive and bar.red with a
// number or a number of threads. Images call them by the names that later versions of LLVM have
// (simulator/jit/intrinsics.def).
#pragma once

#include <llvm/IR/Module.h>

namespace cudasim::gpu_backend {

/// Replaces calls of llvm.nvvm.barrier.cta.* by PTX. @throws PtxError for a use that is no such call
void lower_named_barriers(llvm::Module& module);

}  // namespace cudasim::gpu_backend
