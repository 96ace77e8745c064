// See inlining.h.
#include "gpu_backend/inlining.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <set>
#include <vector>

namespace cudasim::gpu_backend {
namespace {

/// In instructions before optimisation, as in simulator/jit/inlining.cpp.
constexpr std::size_t largest_callee = 4000;
constexpr std::size_t largest_caller = 40000;

struct CallOrder {
    std::vector<llvm::Function*> callees_first;
    std::set<const llvm::Function*> recursive;
};

CallOrder call_order(llvm::Module& module) {
    CallOrder order;
    llvm::CallGraph graph(module);
    for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
        for (const llvm::CallGraphNode* node : *component) {
            llvm::Function* function = node->getFunction();
            if (!function || function->isDeclaration()) continue;
            order.callees_first.push_back(function);
            if (component.hasCycle()) order.recursive.insert(function);
        }
    }
    return order;
}

}  // namespace

void inline_functions(llvm::Module& module) {
    const CallOrder order = call_order(module);
    for (llvm::Function* function : order.callees_first) {
        std::vector<llvm::CallInst*> calls;
        for (llvm::Instruction& instruction : llvm::instructions(*function))
            if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) calls.push_back(call);
        std::size_t size = function->getInstructionCount();
        for (llvm::CallInst* call : calls) {
            const llvm::Function* callee = call->getCalledFunction();
            if (!callee || callee->isDeclaration() || callee == function ||
                order.recursive.contains(callee) || callee->getInstructionCount() > largest_callee ||
                size > largest_caller)
                continue;
            size += callee->getInstructionCount();
            llvm::InlineFunctionInfo info;
            (void)llvm::InlineFunction(*call, info);
        }
    }
}

}  // namespace cudasim::gpu_backend
