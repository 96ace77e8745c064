// See kept_loads.h. A kept load is the argument of a call that reads and writes
// memory which nobody else knows.
#include "simulator/jit/kept_loads.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <map>

namespace cudasim::jit {
namespace {

using namespace llvm;

constexpr const char* keeper_prefix = "cudasim.keep.";

/// One for each type.
class Keepers {
  public:
    explicit Keepers(Module& module) : module_(module) {
        for (Function& function : module)
            if (keeps_loads(function)) keepers_[function.getArg(0)->getType()] = &function;
    }

    void keep(LoadInst& load) {
        if (any_of(load.users(), is_keeper_call)) return;
        IRBuilder<> builder(load.getNextNode());
        builder.SetCurrentDebugLocation(load.getDebugLoc());
        builder.CreateCall(keeper_of(load.getType()), {&load});
    }

  private:
    static bool is_keeper_call(const User* user) {
        const auto* call = dyn_cast<CallInst>(user);
        return call && call->getCalledFunction() && keeps_loads(*call->getCalledFunction());
    }

    Function* keeper_of(Type* type) {
        Function*& keeper = keepers_[type];
        if (keeper) return keeper;
        auto* signature = FunctionType::get(Type::getVoidTy(module_.getContext()), {type}, false);
        keeper = Function::Create(signature, GlobalValue::ExternalLinkage,
                                  keeper_prefix + std::to_string(keepers_.size()), module_);
        keeper->setDoesNotThrow();
        keeper->setWillReturn();
        keeper->setOnlyAccessesInaccessibleMemory();
        return keeper;
    }

    Module& module_;
    std::map<Type*, Function*> keepers_;
};

}  // namespace

void keep_loads(Compilation& compilation, const std::function<bool(const LoadInst&)>& wanted) {
    Keepers keepers(*compilation.module);
    for (Function& function : *compilation.module) {
        for (Instruction& instruction : make_early_inc_range(instructions(function))) {
            auto* load = dyn_cast<LoadInst>(&instruction);
            if (!load || !wanted(*load)) continue;
            if (!isa<AllocaInst>(getUnderlyingObject(load->getPointerOperand()))) keepers.keep(*load);
        }
    }
}

bool keeps_loads(const Function& function) {
    return function.getName().starts_with(keeper_prefix);
}

void release_kept_loads(Compilation& compilation) {
    for (Function& function : make_early_inc_range(*compilation.module)) {
        if (!keeps_loads(function)) continue;
        for (User* user : make_early_inc_range(function.users())) cast<Instruction>(user)->eraseFromParent();
        function.eraseFromParent();
    }
}

}  // namespace cudasim::jit
