// The runners of one worker, by the size of their stacks. They outlive launches.
//
//   idle:  | cold: pages given back | not used by this launch | used by this launch |
//          0                        cold                      low                   size
//
// Runners are taken from the right end and put back there.
//
// So the runners that a launch did not need are those below `low`. When a launch needed far less than the one
// before it, their pages go back to the system; launches that need the same all over keep theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "simulator/execution/launch.h"
#include "simulator/execution/launch_memory.h"
#include "simulator/execution/runner.h"
#include "simulator/fiber/stack_slab.h"

namespace cudasim::execution {

/// Bytes that the last launch used for its threads, and those that it left alone although they may have
/// pages.
struct MemoryUse {
    std::uint64_t used = 0, unused = 0;
};

class RunnerPool {
  public:
    /// @param thread_memory of all workers: grows by what their threads may take
    explicit RunnerPool(std::atomic<std::uint64_t>& thread_memory) : thread_memory_(thread_memory) {}

    /// Runners are for this launch from now on.
    void prepare(const Launch& launch);
    /// A runner with a fresh or idle fiber for this block. @throws std::bad_alloc when there is no memory for
    /// another stack; that much is left that the launch can be ended and described
    [[nodiscard]] Runner* acquire(Launch& launch, const jit::BlockContext* block, SkippedOperations* skipped);
    /// These runners, which are idle, are no longer: their contents are about to be what they were earlier
    /// in the launch. Sorts them.
    void take_back(std::vector<Runner*>& runners);
    /// The runner is idle: its fiber suspended at its entry's end.
    void release(Runner* runner) { class_->idle.push_back(runner); }
    /// The runner's thread is forgotten where it stands (E10).
    void discard(Runner* runner);
    /// Threads are about to touch so much memory for the first time. @throws std::bad_alloc when the host has
    /// none left
    void count(std::uint64_t bytes);
    [[nodiscard]] bool is_idle(const Runner* runner) const;
    /// Runners that this launch has made or can take here.
    [[nodiscard]] std::size_t stacks() const { return class_ ? class_->slab.taken() : 0; }
    [[nodiscard]] bool is_on_a_stack(std::uint64_t address) const {
        return class_ != nullptr && class_->slab.contains(address);
    }
    /// What the launch's stacks here take already.
    [[nodiscard]] ThreadMemory held_for(const Launch& launch) const;

    // These are called between launches only.
    [[nodiscard]] MemoryUse use() const;
    /// Gives the memory of unused stacks back; their contents are lost.
    void give_unused_back();
    /// Gives all stacks back, with their address space. Has to be called for all workers or none, because
    /// blocks move between workers with their runners.
    void clear();
    /// What the next launch uses is counted from here.
    void start_counting();

  private:
    struct StackClass {
        explicit StackClass(const StackNeed& of_each);
        StackNeed need;
        fiber::StackSlab slab;
        std::vector<Runner*> idle;
        std::size_t low = 0, cold = 0;  ///< see above
    };
    [[nodiscard]] Runner* make();

    std::atomic<std::uint64_t>& thread_memory_;
    std::map<std::pair<std::size_t, bool>, StackClass> classes_;  // by stack bytes; guarded
    StackClass* class_ = nullptr;
    std::uint64_t unchecked_bytes_ = 0;  ///< counted since the host was asked for its memory
};

}  // namespace cudasim::execution
