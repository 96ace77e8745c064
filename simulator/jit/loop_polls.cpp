// Polls at loop back-edges (E5, E11). One counter per function, in a register after SROA:
//
//   back-edge ─► fuel -= cost; if (fuel <= 0) { yield(); fuel = fuel_per_slice; } ─► loop header
//
// A short loop of constant length that cannot wait needs none: the loop around it polls, and without the poll
// it can be unrolled and vectorised.
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/standard_instrumentations.h"

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

/// Iterations of a loop and the loops inside it, all together, up to which none of them polls.
constexpr std::uint64_t short_loop = 1024;

/// Iterations in all; 0 when they are not known to be few.
std::uint64_t constant_work(const Loop& loop, ScalarEvolution& evolution) {
    const std::uint64_t trips = evolution.getSmallConstantMaxTripCount(&loop);
    std::uint64_t inside = 1;
    for (const Loop* inner : loop.getSubLoops()) {
        const std::uint64_t work = constant_work(*inner, evolution);
        if (work == 0) return 0;
        inside += work;
    }
    return trips > short_loop || trips * inside > short_loop ? 0 : trips * inside;
}

/// What one iteration burns; 0: no poll.
std::int32_t cost_of(const BasicBlock& header, const LoopInfo& loops, ScalarEvolution& evolution) {
    const Loop* loop = loops.getLoopFor(&header);
    if (!loop || loop->getHeader() != &header) return fuel_per_spin;  // irreducible: unknown
    for (const BasicBlock* block : loop->blocks()) {
        if (any_of(*block, may_wait)) return fuel_per_spin;
    }
    return constant_work(*loop, evolution) != 0 ? 0 : 1;
}

/// Inserts a poll on the edge from -> to, which is split where a terminator has several successors or edges.
void insert_poll(BasicBlock& from, BasicBlock& to, AllocaInst& fuel, std::int32_t cost) {
    BasicBlock* edge = SplitEdge(&from, &to);
    Instruction* at = edge->getTerminator();
    const DebugLoc place = from.getTerminator()->getDebugLoc();
    IRBuilder<> builder(at);
    builder.SetCurrentDebugLocation(place);
    auto* known = builder.CreateLoad(builder.getInt32Ty(), &fuel);
    mark_internal(*known);
    Value* rest = builder.CreateSub(known, builder.getInt32(cost));
    mark_internal(*builder.CreateStore(rest, &fuel));
    builder.SetInsertPoint(branch_cold(builder.CreateICmpSLE(rest, builder.getInt32(0)), at, true));
    builder.SetCurrentDebugLocation(place);
    call_hook(builder, Hook::yield, {});
    mark_internal(*builder.CreateStore(builder.getInt32(fuel_per_slice), &fuel));
}

/// Where a thread gives its turn up in any case. So a loop that waits in each iteration and gets nowhere
/// leaves the thread as it was (simulator/execution/livelock.cpp), and no fuel is kept across a barrier.
std::vector<Instruction*> waits_of(Function& function) {
    std::vector<Instruction*> waits;
    for (Instruction& instruction : instructions(function)) {
        const auto hook = hook_called_by(instruction);
        if (hook == Hook::barrier || hook == Hook::named_barrier || hook == Hook::warp || hook == Hook::sleep)
            waits.push_back(&instruction);
    }
    return waits;
}

void insert_polls(Function& function) {
    SmallVector<std::pair<const BasicBlock*, const BasicBlock*>, 8> edges;
    FindFunctionBackedges(function, edges);
    if (edges.empty()) return;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    AssumptionCache assumptions(function);
    TargetLibraryInfoImpl libraries(Triple(function.getParent()->getTargetTriple()));
    libraries.disableAllFunctions();
    TargetLibraryInfo library(libraries);
    ScalarEvolution evolution(function, library, assumptions, dominators, loops);
    std::vector<std::int32_t> costs;
    for (const auto& [from, to] : edges) costs.push_back(cost_of(*to, loops, evolution));
    if (all_of(costs, [](std::int32_t cost) { return cost == 0; })) return;
    IRBuilder<> builder(&function.getEntryBlock(), function.getEntryBlock().begin());
    AllocaInst* fuel = builder.CreateAlloca(builder.getInt32Ty(), nullptr, "fuel");
    mark_internal(*builder.CreateStore(builder.getInt32(fuel_per_slice), fuel));
    for (Instruction* wait : waits_of(function)) {
        builder.SetInsertPoint(wait->getNextNode());
        mark_internal(*builder.CreateStore(builder.getInt32(fuel_per_slice), fuel));
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (costs[i] == 0) continue;
        insert_poll(const_cast<BasicBlock&>(*edges[i].first), const_cast<BasicBlock&>(*edges[i].second),
                    *fuel, costs[i]);
    }
}

class SafepointPolls final : public Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "safepoint_polls"; }
    [[nodiscard]] std::uint32_t version() const override { return 2; }

    void late(Compilation& compilation) const override {
        for (Function& function : *compilation.module) {
            if (!function.isDeclaration()) insert_polls(function);
        }
    }
};

const SafepointPolls instrumentation;

}  // namespace

const Instrumentation& safepoint_polls() {
    return instrumentation;
}

}  // namespace cudasim::jit
