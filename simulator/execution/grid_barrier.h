// The barrier of a grid (cooperative groups, this_grid().sync()): how many blocks have come, and who never
// will.
//
// Shared by the workers of a launch; all blocks of a cooperative launch are resident. A block comes when all
// its threads that have not ended wait at a grid barrier. A block that a fault ended is not waited for (fault
// policy); one that simply ended without coming makes the others wait for ever on hardware: a deadlock, and
// the launch ends (E3).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "simulator/findings/finding.h"

namespace cudasim::execution {

class GridBarrier {
  public:
    void start(std::uint64_t blocks) { blocks_ = blocks; }
    /// Who has come, for a launch that goes back to an earlier point.
    struct State {
        std::uint64_t arrived = 0, broken = 0;
        std::vector<std::uint32_t> ended;
        std::uint32_t generation = 0;
    };
    [[nodiscard]] State state() const;
    /// No worker may be at work.
    void restore(const State& state);

    /// So many of a worker's blocks have come.
    void arrive(std::uint64_t blocks);
    /// A block is over without having come. @param broken a fault ended it, or some of its threads
    void leave(std::uint64_t block, bool broken);
    /// Blocks that will not start after all.
    void leave_unstarted(std::uint64_t blocks);

    /// How often all blocks have met; changes when waiting ones may go on.
    [[nodiscard]] std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
    /// Some wait for others that have ended.
    [[nodiscard]] bool deadlocked() const { return deadlocked_.load(std::memory_order_acquire); }
    /// Until the generation changes, a deadlock is found, or the time is over.
    void wait(std::uint32_t generation, std::chrono::microseconds limit);

    /// A deadlock's report: where the threads of one waiting block are.
    void note_waiting(std::vector<findings::WaitingGroup> groups);
    /// The groups of waiting threads, lowest block first. Called after the launch.
    [[nodiscard]] std::vector<findings::WaitingGroup> take_waiting();
    /// Blocks that ended without coming, ascending, as inclusive ranges.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> ended() const;

  private:
    void settle(std::unique_lock<std::mutex> lock);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t blocks_ = 0, arrived_ = 0, broken_ = 0;
    std::vector<std::uint32_t> ended_;
    std::vector<findings::WaitingGroup> waiting_;
    std::atomic<std::uint32_t> generation_{0};
    std::atomic<bool> deadlocked_{false};
};

}  // namespace cudasim::execution
