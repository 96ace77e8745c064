// float32 functions that `fastmath` lets a GPU approximate.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace cudasim::gpu_backend {

/// The calls of libdevice's float32 functions, and of LLVM's square root, that carry the flag `afn` and that
/// the processor has an approximation for.
[[nodiscard]] std::vector<llvm::CallInst*> fast_calls(llvm::Module& module);

/// Replaces them by the processor's approximations, as nvcc's -use_fast_math does (CUDA C++ Programming
/// Guide, "Intrinsic Functions": __sinf, __expf, …).
void expand_fast_math(llvm::Module& module);

/// PTX ISA 7.0, sm_75: tanh.approx.f32, for which LLVM 19 has no intrinsic.
[[nodiscard]] llvm::Value* approximate_hyperbolic_tangent(llvm::IRBuilder<>& builder, llvm::Value* x);

}  // namespace cudasim::gpu_backend
