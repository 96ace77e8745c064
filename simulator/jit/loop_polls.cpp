// Polls at loop back-edges (E5, E11). One counter per function, in a register after SROA:
//
//   back-edge ─► fuel -= cost; if (fuel <= 0) { yield(); fuel = fuel_per_slice; } ─► loop header
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/late_instrumentation.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// A wait for another thread looks like this: the loop reads what others write, or calls what may.
bool may_wait(const Instruction& instruction) {
    if (instruction.isAtomic() || instruction.isVolatile()) return true;
    const auto* call = dyn_cast<CallInst>(&instruction);
    const auto* callee = call ? call->getCalledFunction() : nullptr;
    return call && (!callee || !callee->isDeclaration());
}

std::int32_t cost_of(const BasicBlock& header, const LoopInfo& loops) {
    const Loop* loop = loops.getLoopFor(&header);
    if (!loop || loop->getHeader() != &header) return fuel_per_spin;  // irreducible: unknown
    for (const BasicBlock* block : loop->blocks()) {
        if (any_of(*block, may_wait)) return fuel_per_spin;
    }
    return 1;
}

/// On the edge from -> to: split where a terminator has several successors or edges.
void insert_poll(BasicBlock& from, BasicBlock& to, AllocaInst& fuel, std::int32_t cost) {
    BasicBlock* edge = SplitEdge(&from, &to);
    Instruction* at = edge->getTerminator();
    const DebugLoc place = from.getTerminator()->getDebugLoc();
    IRBuilder<> builder(at);
    builder.SetCurrentDebugLocation(place);
    Value* rest = builder.CreateSub(builder.CreateLoad(builder.getInt32Ty(), &fuel), builder.getInt32(cost));
    builder.CreateStore(rest, &fuel);
    builder.SetInsertPoint(branch_cold(builder.CreateICmpSLE(rest, builder.getInt32(0)), at, true));
    builder.SetCurrentDebugLocation(place);
    call_hook(builder, Hook::yield, {});
    builder.CreateStore(builder.getInt32(fuel_per_slice), &fuel);
}

void insert_polls(Function& function) {
    SmallVector<std::pair<const BasicBlock*, const BasicBlock*>, 8> edges;
    FindFunctionBackedges(function, edges);
    if (edges.empty()) return;
    const DominatorTree dominators(function);
    const LoopInfo loops(dominators);
    std::vector<std::int32_t> costs;
    for (const auto& [from, to] : edges) costs.push_back(cost_of(*to, loops));
    IRBuilder<> builder(&function.getEntryBlock(), function.getEntryBlock().begin());
    AllocaInst* fuel = builder.CreateAlloca(builder.getInt32Ty(), nullptr, "fuel");
    builder.CreateStore(builder.getInt32(fuel_per_slice), fuel);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        insert_poll(const_cast<BasicBlock&>(*edges[i].first), const_cast<BasicBlock&>(*edges[i].second), *fuel, costs[i]);
    }
}

}  // namespace

void insert_polls(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        if (!function.isDeclaration()) insert_polls(function);
    }
}

}  // namespace cudasim::jit
