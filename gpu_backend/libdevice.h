// CUDA's maths library as bitcode, libdevice.10.bc of a toolkit, linked into kernels on their way to PTX.
#pragma once

#include <llvm/IR/Module.h>

namespace cudasim::gpu_backend {

/// Whether the module calls functions of the library (`__nv_*`) that it does not define.
[[nodiscard]] bool calls_libdevice(const llvm::Module& module);

/// Links the functions that the module needs, where a toolkit is found; else nothing happens. Square roots
/// and divisions in them are rounded as IEEE 754 says, and subnormals are kept: the simulator's arithmetic is
/// the same. @throws PtxError
void link_libdevice(llvm::Module& module);

}  // namespace cudasim::gpu_backend
