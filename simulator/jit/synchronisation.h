// Fences, barriers and warp operations of lowered code, with everything that the kernel said of them: for
// instrumentations that ask what orders what. Accesses have their order and scope in memory_accesses.h.
#pragma once

#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>

#include "simulator/image/sync_scopes.h"
#include "simulator/jit/abi.h"

namespace cudasim::jit {

/// What an access or a fence orders, from weak to strong, as C++ and PTX name it. PTX's and NVVM's `membar` and
/// CUDA's __threadfence() are sequential.
enum class MemoryOrder : std::uint8_t { plain, relaxed, acquire, release, acquire_release, sequential };

[[nodiscard]] MemoryOrder memory_order(llvm::AtomicOrdering ordering);

struct Fence {
    MemoryOrder order;
    image::Scope scope;  ///< `thread`: it keeps the compiler from reordering, and nothing else
};
/// nullopt for an instruction that is no fence.
[[nodiscard]] std::optional<Fence> fence_at(const llvm::Instruction& instruction);

struct Barrier {
    BarrierKind kind;
    std::uint32_t number;  ///< of PTX's 16 barriers of a block; 0 for those of the grid
};
/// A call of the barrier hook: all threads of the block, or of the grid, meet there, and their accesses before
/// it are ordered before those behind it.
[[nodiscard]] std::optional<Barrier> barrier_at(const llvm::Instruction& instruction);

/// PTX has barriers 0 to 15 for each block.
inline constexpr std::uint32_t barriers_per_block = 16;

struct WarpOperation {
    WarpKind kind;
    llvm::Value* mask;  ///< i32, the lanes that meet; all ones for `active`, which waits for none of them
};
/// A call of the warp hook.
[[nodiscard]] std::optional<WarpOperation> warp_operation_at(const llvm::Instruction& instruction);

}  // namespace cudasim::jit
