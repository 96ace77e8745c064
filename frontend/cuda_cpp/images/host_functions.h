// Host functions that device code may come to: nvcc takes their calls by `__host__ __device__` functions. The
// driver marks them (frontend/cuda_cpp/driver/host_functions.h); a thread that calls one ends with a fault.
#pragma once

#include <llvm/IR/Module.h>

namespace cudasim::cuda_cpp {

void fail_at_host_functions(llvm::Module& module);

}  // namespace cudasim::cuda_cpp
