// float32 functions that `fastmath` lets a GPU approximate.
#pragma once

#include <llvm/IR/Module.h>

namespace cudasim::gpu_backend {

/// Replaces calls of libdevice's float32 functions that carry the flag `afn` by the processor's
/// approximations, as nvcc's -use_fast_math does (CUDA C++ Programming Guide, "Intrinsic Functions": __sinf,
/// __expf, …).
void expand_fast_math(llvm::Module& module);

}  // namespace cudasim::gpu_backend
