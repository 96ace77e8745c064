// Fences, barriers and warp operations of lowered code, with everything that the kernel said of them: for
// instrumentations that ask what orders what. Accesses have their order and scope in memory_accesses.h.
#pragma once

#include <llvm/IR/Instructions.h>

#include <optional>

#include "simulator/image/sync_scopes.h"
#include "simulator/jit/abi.h"
#include "simulator/jit/memory_order.h"

namespace cudasim::jit {

[[nodiscard]] MemoryOrder memory_order(llvm::AtomicOrdering ordering);

struct Fence {
    MemoryOrder order;
    image::Scope scope;  ///< `thread`: it keeps the compiler from reordering, and nothing else
};
/// nullopt for an instruction that is no fence.
[[nodiscard]] std::optional<Fence> fence_at(const llvm::Instruction& instruction);

struct Barrier {
    BarrierKind kind;
    llvm::Value*
        number;  ///< i32, of PTX's 16 barriers of a block, mostly a constant; 0 for those of the grid
    llvm::Value* threads;  ///< i32, for how many threads it is; null: for all of the block, or of the grid
};
/// A call of the hook barrier or named_barrier. The threads that meet there are ordered: what they accessed
/// before it comes before what those that wait there (all but BarrierKind::arrive) access behind it.
[[nodiscard]] std::optional<Barrier> barrier_at(const llvm::Instruction& instruction);

struct WarpOperation {
    WarpKind kind;
    llvm::Value* mask;  ///< i32, the lanes that meet; all ones for `active`, which waits for none of them
};
/// A call of the warp hook.
[[nodiscard]] std::optional<WarpOperation> warp_operation_at(const llvm::Instruction& instruction);

}  // namespace cudasim::jit
