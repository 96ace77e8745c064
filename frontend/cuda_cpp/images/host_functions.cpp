// See host_functions.h.
#include "frontend/cuda_cpp/images/host_functions.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Local.h>

#include <map>
#include <string>
#include <vector>

#include "simulator/image/kernel_image.h"

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

/// @param end_of makes what ends the thread where a function is called: (builder, the function's description)
template <class EndOf>
void end_at_host_functions(llvm::Module& module, const EndOf& end_of) {
    std::vector<llvm::Function*> marked;
    for (llvm::Function& function : module)
        if (!description_of(function).empty() && !function.use_empty()) marked.push_back(&function);
    llvm::IRBuilder<> builder(module.getContext());
    for (llvm::Function* function : marked) {
        const std::string description = description_of(*function).str();
        std::vector<llvm::CallBase*> calls;
        for (llvm::User* user : function->users())
            if (auto* call = llvm::dyn_cast<llvm::CallBase>(user);
                call != nullptr && call->getCalledFunction() == function)
                calls.push_back(call);
        for (llvm::CallBase* call : calls) {
            builder.SetInsertPoint(call);
            end_of(builder, description);
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
        end_of(builder, description);
        builder.CreateUnreachable();
    }
}

}  // namespace

void fail_at_host_functions(llvm::Module& module) {
    std::map<std::string, unsigned> entries;
    end_at_host_functions(module, [&](llvm::IRBuilder<>& builder, const std::string& description) {
        const auto raise =
            module.getOrInsertFunction("__cudasim_raise", builder.getVoidTy(), builder.getInt32Ty());
        const auto [entry, is_new] = entries.try_emplace(description, 0);
        if (is_new) entry->second = entry_for(module, description);
        builder.CreateCall(raise, builder.getInt32(entry->second));
    });
}

std::string with_traps_at_host_functions(const std::string& bitcode) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile({llvm::StringRef(bitcode), "device code"}, context);
    if (!module) throw image::ImageError("device code: " + llvm::toString(module.takeError()));
    end_at_host_functions(**module, [](llvm::IRBuilder<>& builder, const std::string&) {
        builder.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
    });
    std::string result;
    llvm::raw_string_ostream stream(result);
    llvm::WriteBitcodeToFile(**module, stream);
    return result;
}

}  // namespace cudasim::cuda_cpp
