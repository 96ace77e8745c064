// Inlines device functions into the kernel, callees first, and guards those that recurse: at their entry the
// stack pointer is compared with the context's limit and fuel is burnt (E11).
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <set>

#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/optimiser.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Beyond these, code size costs more (compile time, cache) than a call; instructions before optimisation.
constexpr std::size_t largest_callee = 4000;
constexpr std::size_t largest_caller = 40000;

class Inliner {
  public:
    explicit Inliner(Compilation& compilation) : compilation_(compilation) {
        for (Function* function : compilation.layout.functions) {
            if (function) handled_.push_back(function);
        }
    }

    void run() {
        for (Function& function : *compilation_.module) {
            if (!function.isDeclaration()) visit(function);
        }
        for (Function* function : recursive_) guard(*function);
        compilation_.recursive = !recursive_.empty();
        drop_unused();
    }

  private:
    std::vector<Function*> callees(Function& function) const {
        std::vector<Function*> result;
        for (Instruction& instruction : instructions(function)) {
            const auto* call = dyn_cast<CallInst>(&instruction);
            if (!call) continue;
            Function* callee = call->getCalledFunction();
            if (!callee) {
                result.insert(result.end(), handled_.begin(), handled_.end());
            } else if (!callee->isDeclaration()) {
                result.push_back(callee);
            }
        }
        return result;
    }

    /// Depth first: callees are complete before they are copied. A call to a function that is still open
    /// closes a cycle, and every function open since then is on it (conservatively).
    void visit(Function& function) {
        if (!visited_.insert(&function).second) return;
        open_.push_back(&function);
        for (Function* callee : callees(function)) {
            const auto on_path = std::find(open_.begin(), open_.end(), callee);
            if (on_path != open_.end()) {
                recursive_.insert(on_path, open_.end());
            } else {
                visit(*callee);
            }
        }
        open_.pop_back();
        inline_into(function);
        done_.insert(&function);
    }

    /// Callees are complete, so what comes in with them needs no second look.
    void inline_into(Function& function) {
        std::vector<CallInst*> calls;
        for (Instruction& instruction : instructions(function)) {
            if (auto* call = dyn_cast<CallInst>(&instruction)) calls.push_back(call);
        }
        std::size_t size = function.getInstructionCount();
        for (CallInst* call : calls) {
            const Function* callee = call->getCalledFunction();
            if (!callee || !may_inline(*callee) || size > largest_caller) continue;
            InlineFunctionInfo info;
            size += callee->getInstructionCount();
            (void)InlineFunction(*call, info, false, nullptr, false);
        }
    }

    bool may_inline(const Function& callee) const {
        return !callee.isDeclaration() && done_.contains(&callee) && !recursive_.contains(&callee) &&
               callee.getInstructionCount() <= largest_callee;
    }

    void guard(Function& function) {
        // A tail call turned into a jump would make runaway recursion an endless loop.
        function.addFnAttr("disable-tail-calls", "true");
        Instruction* at = &*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
        const DebugLoc place = first_place(function);
        IRBuilder<> builder(at);
        builder.SetCurrentDebugLocation(place);
        Value* context = function.getArg(0);
        auto field = [&](unsigned offset) {
            return builder.CreateConstGEP1_32(builder.getInt8Ty(), context, offset);
        };
        Value* frame =
            builder.CreateIntrinsic(Intrinsic::frameaddress, {builder.getPtrTy()}, {builder.getInt32(0)});
        auto* limit = builder.CreateLoad(builder.getInt64Ty(), field(offsetof(ThreadContext, stack_limit)));
        mark_internal(*limit);
        Value* overflow = builder.CreateICmpULT(builder.CreatePtrToInt(frame, builder.getInt64Ty()), limit);
        builder.SetInsertPoint(branch_cold(overflow, at, false));
        builder.SetCurrentDebugLocation(place);
        call_hook(builder, Hook::stack_overflow, {});
        burn_fuel(*at, context, place);
    }

    void burn_fuel(Instruction& at, Value* context, const DebugLoc& place) {
        IRBuilder<> builder(&at);
        builder.SetCurrentDebugLocation(place);
        Value* address =
            builder.CreateConstGEP1_32(builder.getInt8Ty(), context, offsetof(ThreadContext, fuel));
        auto* fuel = builder.CreateLoad(builder.getInt32Ty(), address);
        Value* rest = builder.CreateSub(fuel, builder.getInt32(1));
        auto* store = builder.CreateStore(rest, address);
        mark_internal(*fuel);
        mark_internal(*store);
        builder.SetInsertPoint(branch_cold(builder.CreateICmpSLT(rest, builder.getInt32(0)), &at, true));
        builder.SetCurrentDebugLocation(place);
        mark_internal(*builder.CreateStore(builder.getInt32(fuel_per_slice), address));
        call_hook(builder, Hook::yield, {});
    }

    static DebugLoc first_place(Function& function) {
        if (auto* subprogram = function.getSubprogram()) {
            return DILocation::get(function.getContext(), subprogram->getLine(), 0, subprogram);
        }
        return {};
    }

    void drop_unused() {
        bool changed = true;
        while (changed) {
            changed = false;
            for (Function& function : make_early_inc_range(*compilation_.module)) {
                function.removeDeadConstantUsers();
                if (&function == compilation_.kernel || !function.use_empty()) continue;
                function.eraseFromParent();
                changed = true;
            }
        }
    }

    Compilation& compilation_;
    std::vector<Function*> handled_, open_;
    std::set<const Function*> visited_, done_;
    std::set<Function*, std::less<>> recursive_;
};

}  // namespace

void inline_functions(Compilation& compilation) {
    Inliner(compilation).run();
}

}  // namespace cudasim::jit
