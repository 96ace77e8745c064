// Instructions at which the processor may find a fault that no check has found before: accesses of memory
// without memory checks, and divisions.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Instructions.h>

namespace cudasim::jit {

/// Calls of the hook `stop` behind which there is such an instruction, in front of the next call of the hook.
/// @param checked accesses of memory are checked
[[nodiscard]] llvm::DenseSet<const llvm::CallInst*> statements_that_may_fault(llvm::Function& function,
                                                                              bool checked);

}  // namespace cudasim::jit
