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
    if (hook_called_by(instruction) != Hook::barrier) return std::nullopt;
    const auto& call = cast<CallInst>(instruction);
    Barrier barrier{static_cast<BarrierKind>(constant_argument(call, 1)), 0};
    const MDNode* mark = instruction.getMetadata(marks::barrier);
    if (mark && mark->getNumOperands() == 1)
        barrier.number =
            static_cast<std::uint32_t>(mdconst::extract<ConstantInt>(mark->getOperand(0))->getZExtValue());
    return barrier;
}

std::optional<WarpOperation> warp_operation_at(const Instruction& instruction) {
    if (hook_called_by(instruction) != Hook::warp) return std::nullopt;
    const auto& call = cast<CallInst>(instruction);
    return WarpOperation{static_cast<WarpKind>(constant_argument(call, 1)), call.getArgOperand(2)};
}

}  // namespace cudasim::jit
