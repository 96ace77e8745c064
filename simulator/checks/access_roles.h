// What the accesses of a kernel are for, as far as its code shows: which volatile ones are flags, which
// instructions order threads, and which parameters the kernel only reads through.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include <optional>

#include "simulator/jit/compilation.h"
#include "simulator/jit/memory_accesses.h"

namespace cudasim::checks {

/// The compiler's own (jit::marks::internal).
[[nodiscard]] bool is_internal(const llvm::Instruction& instruction);

/// A call that stands for no code of the kernel's.
[[nodiscard]] bool is_marker(const llvm::Instruction& instruction);

/// Whether other threads may see a change of memory. LLVM says of volatile loads that they write.
[[nodiscard]] bool writes_for_others(const llvm::Instruction& instruction);

/// What an atomic access orders. Sequential updates and compare-and-swaps are relaxed: that is how clang
/// writes CUDA's atomicAdd() and atomicCAS(), which order nothing (CUDA C++ Programming Guide, "Atomic
/// Functions"), and what the code that it makes for a GPU does.
[[nodiscard]] jit::MemoryOrder order_of(const jit::MemoryAccess& access);

/// Whether threads order each other by it, or try to: by anything but barriers of the block and the grid.
[[nodiscard]] bool orders_threads(const llvm::Instruction& instruction);

/// Whether it has code for clusters of several blocks: their barrier, or addresses in other blocks' memory.
[[nodiscard]] bool uses_clusters(const llvm::Module& module);

/// A volatile store of a value that the thread has computed, to one word of up to 8 bytes.
[[nodiscard]] bool is_message_store(const llvm::Instruction& instruction);

/// Volatile accesses that are meant as flags: a load that a loop polls, a store right behind a fence.
class FlagAccesses {
  public:
    explicit FlagAccesses(llvm::Function& function) : function_(function) {}
    [[nodiscard]] bool contains(const llvm::Instruction& instruction);
    /// A volatile or atomic load that a loop polls.
    [[nodiscard]] bool is_polled_load(const llvm::Instruction& instruction);

  private:
    [[nodiscard]] bool is_polled(const llvm::LoadInst& load);

    llvm::Function& function_;
    llvm::DominatorTree tree_;
    std::optional<llvm::LoopInfo> loops_;
};

/// Which of the kernel's parameters it writes through, and which it only reads through. Where it also writes
/// through other addresses than parameters, shared and local variables, nothing is known, and both are empty.
[[nodiscard]] jit::ParameterUse parameter_use_of(jit::Compilation& compilation);

}  // namespace cudasim::checks
