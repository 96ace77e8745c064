// See narrow_conversions.h.
#include "frontend/cuda_cpp/images/narrow_conversions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "simulator/image/defined_arithmetic.h"

namespace cudasim::cuda_cpp {

void widen_narrow_conversions(llvm::Module& module) {
    std::vector<llvm::CastInst*> conversions;
    for (llvm::Function& function : module)
        for (llvm::Instruction& instruction : llvm::instructions(function))
            if (llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst>(instruction) &&
                (instruction.getType()->isIntegerTy(8) || instruction.getType()->isIntegerTy(16)))
                conversions.push_back(llvm::cast<llvm::CastInst>(&instruction));
    for (llvm::CastInst* conversion : conversions) {
        llvm::IRBuilder<> builder(conversion);
        llvm::Value* wide =
            builder.CreateCast(conversion->getOpcode(), conversion->getOperand(0), builder.getInt32Ty());
        auto* cut = llvm::cast<llvm::Instruction>(builder.CreateTrunc(wide, conversion->getType()));
        cut->setMetadata(image::cut_conversion_mark, llvm::MDNode::get(module.getContext(), {}));
        conversion->replaceAllUsesWith(cut);
        conversion->eraseFromParent();
    }
}

}  // namespace cudasim::cuda_cpp
