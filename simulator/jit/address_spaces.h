// In which memory a generic address lies (PTX ISA, "isspacep"), each as an i1. The windows of shared and
// local memory are small; what lies elsewhere is global (PTX ISA, "Generic Addressing").
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// In the block's static or dynamic shared memory.
[[nodiscard]] llvm::Value* lies_in_shared_memory(llvm::IRBuilder<>& builder, const Compilation& compilation,
                                                 llvm::Value* address);
/// In the thread's own.
[[nodiscard]] llvm::Value* lies_in_local_memory(llvm::IRBuilder<>& builder, llvm::Value* address);

}  // namespace cudasim::jit
