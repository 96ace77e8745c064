// Plain accesses beside atomic ones that are meant so, as far as a function's code shows.
//
// verified reads:  old = *address;                       a plain load before a loop of compare-and-swaps. A
//                  do {                                  value that is out of date does no harm, because the
//                      assumed = old;                    compare-and-swap finds out: nothing but what it
//                      old = atomicCAS(address,          compares and writes, and whether it is tried, may
//                                      assumed, ...);    depend on what was loaded, until it has succeeded.
//                  } while (old != assumed);
//
// decided writes:  last = atomicAdd(&count, 1) == n - 1; a plain store that happens only where the value of
//                  if (last) count = 0;                  an atomic update says so, also by way of shared
//                                                        memory.
//
// What is not a naturally aligned word of up to 8 bytes, read at once, is no verified read; nor is what a
// loop polls without a compare-and-swap.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace cudasim::checks {

class AtomicIdioms {
  public:
    explicit AtomicIdioms(llvm::Function& function);

    /// The compare-and-swap that verifies what a plain load reads; nullptr where something else depends on
    /// it, or nothing, and for other instructions.
    [[nodiscard]] const llvm::AtomicCmpXchgInst* verifies(const llvm::Instruction& instruction);
    [[nodiscard]] bool is_decided(const llvm::Instruction& instruction);

  private:
    using Exchanges = std::vector<const llvm::AtomicCmpXchgInst*>;
    struct Dependence;

    [[nodiscard]] const llvm::DominatorTree& tree();
    void find_confirmations(Dependence& found) const;
    [[nodiscard]] bool is_confirmed(const llvm::Use& use, const Dependence& found);
    [[nodiscard]] static bool follow_local(const llvm::AllocaInst& local, Dependence& found);
    [[nodiscard]] bool is_stored_anew(const llvm::Instruction& store, const Dependence& found);
    [[nodiscard]] bool follow_branch(const llvm::Instruction& branch, Dependence& found);
    [[nodiscard]] const llvm::BasicBlock* join_of(const llvm::BasicBlock& block) const;
    [[nodiscard]] bool is_behind_decision(const llvm::Instruction& instruction, unsigned depth);
    [[nodiscard]] bool comes_from_update(const llvm::Value& value, unsigned depth);
    [[nodiscard]] bool comes_through_memory(const llvm::LoadInst& load, unsigned depth);

    llvm::Function& function_;
    Exchanges exchanges_;
    bool has_updates_ = false;  ///< atomic updates whose values are used
    std::optional<llvm::DominatorTree> tree_;
    std::optional<llvm::LoopInfo> loops_;
    std::map<const llvm::Value*, bool> from_updates_;
};

}  // namespace cudasim::checks
