// Early instrumentation of traps, unreachable code and local variables (C0, V3).
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

bool follows_a_hook_that_never_returns(const UnreachableInst& end) {
    const auto* previous = dyn_cast_or_null<CallInst>(end.getPrevNode());
    const auto* callee = previous ? previous->getCalledFunction() : nullptr;
    return callee && hook_called_by(*previous) && callee->doesNotReturn();
}

void fault_before(Instruction& at, findings::FindingKind kind) {
    IRBuilder<> builder(&at);
    call_hook(builder, Hook::fault, {builder.getInt32(static_cast<std::uint32_t>(kind))});
}

void define_control(Instruction& instruction) {
    if (auto* end = dyn_cast<UnreachableInst>(&instruction)) {
        if (!follows_a_hook_that_never_returns(*end)) {
            fault_before(*end, findings::FindingKind::unreachable_code);
        }
        return;
    }
    auto* call = dyn_cast<IntrinsicInst>(&instruction);
    if (!call) return;
    switch (call->getIntrinsicID()) {
        case Intrinsic::trap:
        case Intrinsic::debugtrap:
        case Intrinsic::ubsantrap:
            fault_before(*call, findings::FindingKind::trap);
            call->eraseFromParent();
            break;
        default:
            break;
    }
}

/// All of a function's local variables, together at its head, so that later passes may split the block
/// behind them, and filled with poison there.
void poison_locals(Function& function) {
    std::vector<AllocaInst*> locals;
    for (Instruction& instruction : instructions(function)) {
        auto* local = dyn_cast<AllocaInst>(&instruction);
        if (!local) continue;
        if (!local->isStaticAlloca()) refuse(*local, "local arrays of variable length are not supported");
        locals.push_back(local);
    }
    if (locals.empty()) return;
    BasicBlock& entry = function.getEntryBlock();
    for (AllocaInst* local : reverse(locals)) local->moveBefore(entry, entry.begin());
    IRBuilder<> builder(locals.back()->getNextNode());
    builder.SetCurrentDebugLocation({});
    for (AllocaInst* local : locals) {
        const std::uint64_t bytes = local->getAllocationSize(local->getDataLayout())->getFixedValue();
        if (bytes == 0) continue;
        mark_internal(*builder.CreateMemSet(local, builder.getInt8(local_poison), bytes, local->getAlign()));
    }
}

}  // namespace

void define_control_and_memory(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        for (Instruction& instruction : make_early_inc_range(instructions(function))) {
            define_control(instruction);
        }
        if (!function.isDeclaration()) poison_locals(function);
    }
}

}  // namespace cudasim::jit
