// See variable_reads.h.
#include "simulator/image/variable_reads.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

namespace cudasim::image {
namespace {

bool is_read_function(const llvm::Function& function) {
    const llvm::StringRef prefix(variable_read_prefix.data(), variable_read_prefix.size());
    return function.isDeclaration() && function.getName().starts_with(prefix);
}

void resolve(llvm::CallInst& call, VariableReads reads) {
    llvm::Value* kept = call.getArgOperand(reads == VariableReads::loaded ? 1 : 0);
    llvm::WeakVH other = call.getArgOperand(reads == VariableReads::loaded ? 0 : 1);
    // In code that is never reached a call may be its own operand.
    if (kept == &call) kept = llvm::PoisonValue::get(call.getType());
    call.replaceAllUsesWith(kept);
    call.eraseFromParent();
    if (other) llvm::RecursivelyDeleteTriviallyDeadInstructions(other);
}

}  // namespace

llvm::CallInst* as_variable_read(llvm::Value* value) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(value);
    const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !is_read_function(*callee)) return nullptr;
    const llvm::Type* type = call->getType();
    const bool fits = call->arg_size() == 2 && !type->isVoidTy() &&
                      call->getArgOperand(0)->getType() == type && call->getArgOperand(1)->getType() == type;
    const bool plain = !call->hasOperandBundles() && !llvm::is_contained(call->args(), callee);
    return fits && plain ? call : nullptr;
}

llvm::Value* stored_value(llvm::Value* value) {
    while (const llvm::CallInst* read = as_variable_read(value)) value = read->getArgOperand(0);
    return value;
}

llvm::User* resolve_variable_reads(llvm::Module& module, VariableReads reads) {
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (!is_read_function(function)) continue;
        llvm::SmallVector<llvm::WeakVH> calls;  // resolving one may remove others
        for (llvm::User* user : function.users()) {
            if (!as_variable_read(user)) return user;
            calls.push_back(user);
        }
        for (const llvm::WeakVH& call : calls) {
            if (call) resolve(*llvm::cast<llvm::CallInst>(call), reads);
        }
        if (function.use_empty()) function.eraseFromParent();
    }
    return nullptr;
}

}  // namespace cudasim::image
