// See function_handles.h.
#include "gpu_backend/function_handles.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

#include <map>
#include <vector>

#include "simulator/image/function_handles.h"

namespace cudasim::gpu_backend {
namespace {

class FunctionHandles {
  public:
    explicit FunctionHandles(llvm::Module& module) : module_(module) {
        for (const llvm::Function* function : image::functions_with_address(module))
            functions_.push_back(const_cast<llvm::Function*>(function));
    }

    void use() {
        std::vector<llvm::CallBase*> calls;
        for (llvm::Function& function : module_)
            for (llvm::Instruction& instruction : llvm::instructions(function))
                if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isIndirectCall())
                    calls.push_back(call);
        for (std::size_t index = 0; index < functions_.size(); ++index)
            replace_by_handle(*functions_[index], index);
        for (llvm::CallBase* call : calls) call_by_handle(*call);
    }

  private:
    /// In instructions. A function that is called by its name stays what is called.
    static void replace_by_handle(llvm::Function& function, std::size_t index) {
        auto* word = llvm::Type::getInt64Ty(function.getContext());
        auto* handle = llvm::ConstantExpr::getIntToPtr(
            llvm::ConstantInt::get(word, image::function_handle(index)), function.getType());
        llvm::convertUsersOfConstantsToInstructions({&function});
        std::vector<llvm::Use*> uses;
        for (llvm::Use& use : function.uses()) {
            const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
            if (call != nullptr && call->isCallee(&use)) continue;
            if (llvm::isa<llvm::Instruction>(use.getUser())) uses.push_back(&use);
        }
        for (llvm::Use* use : uses) use->set(handle);
    }

    void call_by_handle(llvm::CallBase& call) {
        llvm::IRBuilder<> builder(&call);
        std::vector<llvm::Value*> arguments{
            builder.CreatePtrToInt(call.getCalledOperand(), builder.getInt64Ty())};
        arguments.insert(arguments.end(), call.arg_begin(), call.arg_end());
        llvm::CallInst* chosen = builder.CreateCall(chooser(call.getFunctionType()), arguments);
        if (!call.getType()->isVoidTy()) chosen->takeName(&call);
        call.replaceAllUsesWith(chosen);
        call.eraseFromParent();
    }

    /// `result f(i64 handle, parameters...)`, which calls the function of that type with the handle.
    llvm::Function* chooser(llvm::FunctionType* type) {
        llvm::Function*& known = choosers_[type];
        if (known) return known;
        llvm::LLVMContext& context = module_.getContext();
        std::vector<llvm::Type*> parameters{llvm::Type::getInt64Ty(context)};
        parameters.insert(parameters.end(), type->param_begin(), type->param_end());
        known = llvm::Function::Create(llvm::FunctionType::get(type->getReturnType(), parameters, false),
                                       llvm::GlobalValue::InternalLinkage, "cudasim_call", module_);
        llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", known));
        auto* wild = llvm::BasicBlock::Create(context, "wild", known);
        llvm::SwitchInst* cases = builder.CreateSwitch(known->getArg(0), wild);
        for (std::size_t index = 0; index < functions_.size(); ++index) {
            llvm::Function* function = functions_[index];
            if (function->getFunctionType() != type || function->isDeclaration() ||
                function->getCallingConv() == llvm::CallingConv::PTX_Kernel)
                continue;
            auto* block = llvm::BasicBlock::Create(context, function->getName(), known);
            cases->addCase(builder.getInt64(image::function_handle(index)), block);
            builder.SetInsertPoint(block);
            std::vector<llvm::Value*> arguments;
            for (unsigned i = 0; i < type->getNumParams(); ++i) arguments.push_back(known->getArg(i + 1));
            llvm::CallInst* call = builder.CreateCall(function, arguments);
            call->setAttributes(function->getAttributes());
            call->setCallingConv(function->getCallingConv());
            type->getReturnType()->isVoidTy() ? builder.CreateRetVoid() : builder.CreateRet(call);
        }
        builder.SetInsertPoint(wild);
        builder.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
        builder.CreateUnreachable();
        return known;
    }

    llvm::Module& module_;
    std::vector<llvm::Function*> functions_;
    std::map<llvm::FunctionType*, llvm::Function*> choosers_;
};

}  // namespace

void use_function_handles(llvm::Module& module) {
    FunctionHandles(module).use();
}

}  // namespace cudasim::gpu_backend
