// Promotes local variables to registers in a time that grows with the number of their assignments and uses.
//
// LLVM's mem2reg (inside SROA) walks for each variable all blocks that its assignments dominate. In a kernel
// of thousands of lines this is most of the kernel for each of thousands of variables, so mem2reg gets the
// small kernels only.
#pragma once

#include <llvm/IR/Function.h>

namespace cudasim::jit {

/// Removes variables that nothing reads, with what is stored to them; in large functions it promotes what
/// LLVM would take too long for. Leaves all that is more than scalars at fixed places to SROA.
void promote_slots(llvm::Function& function);

}  // namespace cudasim::jit
