// Loads and stores with cache hints become PTX's: LLVM's NVPTX back end has no cache operators.
#pragma once

#include <llvm/IR/Module.h>

namespace cudasim::gpu_backend {

/// Every access with metadata "cudasim.cache" (its string: "ca", "cg", …, PTX ISA, "Cache Operators") becomes
/// inline assembly. Called before strip_simulator_metadata(), which removes this metadata.
void lower_cache_hints(llvm::Module& module);

}  // namespace cudasim::gpu_backend
