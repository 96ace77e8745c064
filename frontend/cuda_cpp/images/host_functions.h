// Host functions that device code may come to: nvcc takes their calls by `__host__ __device__` functions. The
// driver marks them (frontend/cuda_cpp/driver/host_functions.h); a thread that calls one ends with a fault.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

namespace cudasim::cuda_cpp {

void fail_at_host_functions(llvm::Module& module);

/// For GPUs, on which the thread ends with a trap. @throws image::ImageError
[[nodiscard]] std::string with_traps_at_host_functions(const std::string& bitcode);

}  // namespace cudasim::cuda_cpp
