// See annotated_kernels.h.
#include "simulator/image/annotated_kernels.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

namespace cudasim::image {

std::set<const llvm::Function*> annotated_kernels(const llvm::Module& module) {
    std::set<const llvm::Function*> kernels;
    const auto* annotations = module.getNamedMetadata("nvvm.annotations");
    if (!annotations) return kernels;
    for (const auto* node : annotations->operands()) {
        if (node->getNumOperands() < 3 || !node->getOperand(0)) continue;
        const auto* function = llvm::mdconst::dyn_extract<llvm::Function>(node->getOperand(0));
        if (!function) continue;
        for (unsigned i = 1; i + 1 < node->getNumOperands(); i += 2) {
            const auto* name = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(i).get());
            const llvm::Metadata* value = node->getOperand(i + 1);
            const auto* flag = value ? llvm::mdconst::dyn_extract<llvm::ConstantInt>(value) : nullptr;
            if (name && name->getString() == "kernel" && flag && !flag->isZero()) kernels.insert(function);
        }
    }
    return kernels;
}

}  // namespace cudasim::image
