// Which loads of a kernel the value and the address of a store are computed from, as the code shows it: along
// values, through local arrays and calls, not through conditions and not through memory that threads share.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "simulator/jit/memory_accesses.h"

namespace cudasim::checks {

/// Loads are numbered from 0; those beyond have this number, and are nobody's source.
inline constexpr std::uint32_t unknown_load = 0xffff;

/// In a list of sources, the number of a load with these bits. Lists end with no_source.
enum SourceBits : std::uint32_t {
    source_repeats = 1U << 16,  ///< the value of a loop: what the load has read in earlier rounds is in it
    source_address = 1U << 17   ///< only addresses come from it
};
inline constexpr std::uint32_t no_source = ~std::uint32_t{0};

class ValueSources {
  public:
    explicit ValueSources(llvm::Module& module);

    /// Gives the read of an access its number, the next one. Before any question.
    std::uint32_t add(const llvm::Instruction& read);
    /// unknown_load for what was not added
    [[nodiscard]] std::uint32_t number_of(const llvm::Instruction& read) const;

    /// The sources of what an access writes, no_source last.
    [[nodiscard]] std::vector<std::uint32_t> of(const jit::MemoryAccess& write);

  private:
    struct Step {
        const llvm::Value* value;
        bool repeats;
    };
    struct Walk;

    void follow(const Step& step, Walk& walk);
    void follow_instruction(const llvm::Instruction& instruction, bool repeats, Walk& walk);
    void follow_argument(const llvm::Argument& argument, bool repeats, Walk& walk);
    void follow_local(const llvm::AllocaInst& local, Walk& walk);
    static void add_address(Walk& walk, const llvm::Instruction& read, bool repeats);
    void index_locals();
    const llvm::DominatorTree& tree_of(const llvm::Function& function);

    llvm::Module& module_;
    llvm::DenseMap<const llvm::Instruction*, std::uint32_t> numbers_;
    llvm::DenseMap<const llvm::AllocaInst*, llvm::SmallVector<const llvm::Value*, 4>> stored_in_;
    std::map<const llvm::Function*, std::unique_ptr<llvm::DominatorTree>> trees_;
    bool indexed_ = false;
};

}  // namespace cudasim::checks
