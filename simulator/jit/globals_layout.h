// Where the image's __device__ and __constant__ variables, vtables and string literals lie, what they hold
// at load time, and which function has which handle (E2b).
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// `layout.functions` are known before. Deterministic for a module: variables and functions in module order.
/// @throws CompileError for an initialiser that cannot be laid out
void lay_out_globals(llvm::Module& module, ImageLayout& layout);

}  // namespace cudasim::jit
