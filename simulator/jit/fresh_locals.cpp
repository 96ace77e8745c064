// Fresh local memory holds a poison pattern, never zeros (V3): all bits set, which is a NaN in every float type.
// Before SROA, so that an array whose elements become registers is poisoned as well; what the kernel overwrites
// before it reads costs nothing after optimisation.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include "simulator/jit/claims.h"

namespace cudasim::jit {

using namespace llvm;

void poison_fresh_locals(Compilation& compilation) {
    const DataLayout& layout = compilation.module->getDataLayout();
    for (Function& function : *compilation.module) {
        if (function.isDeclaration()) continue;
        SmallVector<AllocaInst*, 8> arrays;
        for (Instruction& instruction : instructions(function)) {
            auto* local = dyn_cast<AllocaInst>(&instruction);
            if (local && local->isStaticAlloca() && local->getAllocatedType()->isArrayTy()) arrays.push_back(local);
        }
        for (AllocaInst* array : arrays) {
            IRBuilder<> builder(array->getNextNode());
            const std::uint64_t bytes = layout.getTypeAllocSize(array->getAllocatedType());
            builder.CreateMemSet(array, builder.getInt8(0xFF), bytes, array->getAlign());
        }
    }
}

}  // namespace cudasim::jit
