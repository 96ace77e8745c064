// See synchronisation.h.
#include "simulator/jit/synchronisation.h"

#include <llvm/IR/Constants.h>

#include "simulator/jit/compilation.h"
#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {

using namespace llvm;

namespace {

/// Hooks take the context first, so their own arguments begin at 1. The kinds are constants.
std::uint64_t constant_argument(const CallInst& call, unsigned argument) {
    return cast<ConstantInt>(call.getArgOperand(argument))->getZExtValue();
}

}  // namespace

MemoryOrder memory_order(AtomicOrdering ordering) {
    switch (ordering) {
        case AtomicOrdering::NotAtomic:
            return MemoryOrder::plain;
        case AtomicOrdering::Unordered:
        case AtomicOrdering::Monotonic:
            return MemoryOrder::relaxed;
        case AtomicOrdering::Acquire:
            return MemoryOrder::acquire;
        case AtomicOrdering::Release:
            return MemoryOrder::release;
        case AtomicOrdering::AcquireRelease:
            return MemoryOrder::acquire_release;
        case AtomicOrdering::SequentiallyConsistent:
            return MemoryOrder::sequential;
    }
    return MemoryOrder::plain;
}

std::optional<Fence> fence_at(const Instruction& instruction) {
    const auto* fence = dyn_cast<FenceInst>(&instruction);
    if (!fence) return std::nullopt;
    return Fence{memory_order(fence->getOrdering()), image::scope_of(instruction)};
}

std::optional<Barrier> barrier_at(const Instruction& instruction) {
    const auto hook = hook_called_by(instruction);
    if (hook != Hook::barrier && hook != Hook::named_barrier) return std::nullopt;
    const auto& call = cast<CallInst>(instruction);
    const auto kind = static_cast<BarrierKind>(constant_argument(call, 1));
    if (hook == Hook::named_barrier) {
        const auto* threads = dyn_cast<ConstantInt>(call.getArgOperand(3));
        const bool all = threads && threads->getZExtValue() == all_threads;
        return Barrier{kind, call.getArgOperand(2), all ? nullptr : call.getArgOperand(3)};
    }
    const MDNode* mark = instruction.getMetadata(marks::barrier);
    ConstantInt* number = mark && mark->getNumOperands() == 1
                              ? mdconst::extract<ConstantInt>(mark->getOperand(0))
                              : ConstantInt::get(Type::getInt32Ty(instruction.getContext()), 0);
    return Barrier{kind, number, nullptr};
}

std::optional<WarpOperation> warp_operation_at(const Instruction& instruction) {
    if (hook_called_by(instruction) != Hook::warp) return std::nullopt;
    const auto& call = cast<CallInst>(instruction);
    return WarpOperation{static_cast<WarpKind>(constant_argument(call, 1)), call.getArgOperand(2)};
}

}  // namespace cudasim::jit
