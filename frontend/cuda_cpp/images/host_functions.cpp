// See host_functions.h.
#include "frontend/cuda_cpp/images/host_functions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

namespace cudasim::cuda_cpp {
namespace {

constexpr llvm::StringRef mark = "cudasim: ";

llvm::StringRef description_of(const llvm::Function& function) {
    llvm::StringRef text = function.getFnAttribute("dontcall-error").getValueAsString();
    return text.consume_front(mark) ? text : llvm::StringRef();
}

/// Entry of !cudasim.exceptions (simulator/image/checks.def). Without a class it is a trap with a message.
unsigned entry_for(llvm::Module& module, llvm::StringRef description) {
    llvm::LLVMContext& context = module.getContext();
    llvm::NamedMDNode* list = module.getOrInsertNamedMetadata("cudasim.exceptions");
    llvm::Metadata* texts[] = {
        llvm::MDString::get(context, ""),
        llvm::MDString::get(context, (description + " was called on the device").str())};
    list->addOperand(llvm::MDNode::get(context, texts));
    return list->getNumOperands() - 1;
}

}  // namespace

void fail_at_host_functions(llvm::Module& module) {
    std::vector<llvm::Function*> marked;
    for (llvm::Function& function : module)
        if (!description_of(function).empty() && !function.use_empty()) marked.push_back(&function);
    if (marked.empty()) return;
    llvm::IRBuilder<> builder(module.getContext());
    const auto raise =
        module.getOrInsertFunction("__cudasim_raise", builder.getVoidTy(), builder.getInt32Ty());
    for (llvm::Function* function : marked) {
        llvm::Value* const entry = builder.getInt32(entry_for(module, description_of(*function)));
        std::vector<llvm::CallBase*> calls;
        for (llvm::User* user : function->users())
            if (auto* call = llvm::dyn_cast<llvm::CallBase>(user);
                call != nullptr && call->getCalledFunction() == function)
                calls.push_back(call);
        for (llvm::CallBase* call : calls) {
            builder.SetInsertPoint(call);
            builder.CreateCall(raise, entry);
            llvm::changeToUnreachable(call);
        }
        // Through a pointer or a table of virtual functions.
        function->deleteBody();
        function->removeFnAttr("dontcall-error");
        function->setComdat(nullptr);
        if (function->use_empty()) continue;
        function->setLinkage(llvm::GlobalValue::InternalLinkage);
        function->setVisibility(llvm::GlobalValue::DefaultVisibility);
        builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
        builder.SetCurrentDebugLocation(llvm::DebugLoc());
        builder.CreateCall(raise, entry);
        builder.CreateUnreachable();
    }
}

}  // namespace cudasim::cuda_cpp
