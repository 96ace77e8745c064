// Cooperative groups on a GPU: bodies for cudaCGGetIntrinsicHandle and cudaCGSynchronize, which kernels call.
//
// numba-cuda links CUDA's device runtime (cudadevrt) for them, which PTX alone cannot name: ptxas refuses an
// entry with functions that nobody defines. So the barrier comes with the kernel, made of what the PTX ISA
// documents.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// Defines them where the module calls them. The barrier is one of the module: its kernels meet there one
/// launch at a time. Launches have to be cooperative, so that all blocks are resident.
void define_grid_barrier(llvm::Module& module);

}  // namespace cudasim::gpu_backend
