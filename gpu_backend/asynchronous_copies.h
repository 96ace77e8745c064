// cp.async for GPUs that do not have it.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// Makes copies of the calls of llvm.nvvm.cp.async.*, and removes what waits for them: instructions of sm_80
/// and up (PTX ISA, "Data Movement and Conversion Instructions: cp.async").
void copy_at_once(llvm::Module& module);

}  // namespace cudasim::gpu_backend
