// Launch bounds are annotations that LLVM's NVPTX back end reads; what debug information it writes depends on
// the emission kind of the compile unit, which is fixed when one is made: a unit that emits lines takes the
// place of each.

#include "gpu_backend/function_attributes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>

#include <utility>

namespace cudasim::gpu_backend {
namespace {

llvm::DICompileUnit* with_lines_only(llvm::DICompileUnit& unit) {
    return llvm::DICompileUnit::getDistinct(
        unit.getContext(), unit.getSourceLanguage(), unit.getFile(), unit.getRawProducer(),
        unit.isOptimized(), unit.getRawFlags(), unit.getRuntimeVersion(), unit.getRawSplitDebugFilename(),
        llvm::DICompileUnit::DebugDirectivesOnly, nullptr, nullptr, nullptr, nullptr, nullptr, 0, true, false,
        static_cast<unsigned>(unit.getNameTableKind()), false, nullptr, nullptr);
}

}  // namespace

void set_launch_bounds(llvm::Function& kernel, const LaunchBounds& bounds) {
    llvm::LLVMContext& context = kernel.getContext();
    llvm::NamedMDNode* annotations = kernel.getParent()->getOrInsertNamedMetadata("nvvm.annotations");
    const std::pair<const char*, unsigned> values[] = {{"maxntidx", bounds.max_threads},
                                                       {"minctasm", bounds.min_blocks},
                                                       {"maxclusterrank", bounds.max_cluster_blocks},
                                                       {"maxnreg", bounds.max_registers}};
    for (const auto& [name, value] : values) {
        if (value == 0) continue;
        llvm::Metadata* entry[] = {
            llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(context, name),
            llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value))};
        annotations->addOperand(llvm::MDNode::get(context, entry));
    }
}

void keep_debug_info(llvm::Module& module, DebugInfo kept) {
    if (kept == DebugInfo::full) return;
    if (kept == DebugInfo::none) {
        llvm::StripDebugInfo(module);
        return;
    }
    llvm::NamedMDNode* units = module.getNamedMetadata("llvm.dbg.cu");
    if (!units) return;
    llvm::DebugInfoFinder finder;
    finder.processModule(module);
    for (unsigned i = 0; i < units->getNumOperands(); ++i) {
        auto* unit = llvm::cast<llvm::DICompileUnit>(units->getOperand(i));
        llvm::DICompileUnit* lines = with_lines_only(*unit);
        for (llvm::DISubprogram* function : finder.subprograms()) {
            if (function->getUnit() == unit) function->replaceUnit(lines);
        }
        units->setOperand(i, lines);
    }
}

void drop_unused_debug_info(llvm::Module& module) {
    const bool used = llvm::any_of(module, [](const llvm::Function& function) {
        return !function.isDeclaration() && function.getSubprogram();
    });
    if (!used) llvm::StripDebugInfo(module);
}

}  // namespace cudasim::gpu_backend
