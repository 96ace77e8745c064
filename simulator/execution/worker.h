// One host thread's share of a launch: the blocks that are resident on it, its runners and its shared memory.
//
// A worker lives as long as its device and keeps its runners and blocks between launches. It takes a new
// block only when none of its resident blocks can go on (E5), up to the occupancy of the device.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "simulator/execution/block_run.h"
#include "simulator/execution/departure.h"
#include "simulator/execution/launch.h"
#include "simulator/execution/runner_pool.h"
#include "simulator/execution/saved_device.h"

namespace cudasim::execution {

class Worker {
  public:
    /// @param thread_memory as RunnerPool's
    Worker(unsigned index, std::atomic<std::uint64_t>& thread_memory)
        : runners_(thread_memory), index_(index) {}
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Runs blocks until none is left. Called on the launching thread for worker 0, on a pool thread for
    /// others. Memory that is not there ends the launch (Launch::run_out_of_memory). Worker 0 returns before
    /// the launch is over when that leaves its caller; the next call, on any thread, goes on.
    /// @param leaving null: it does not leave
    void run(Launch& launch, LeavingLaunch* leaving);
    [[nodiscard]] bool leaves() const { return index_ == 0 && leaving_ != nullptr && leaving_->leaves(); }
    /// Of a block's threads. Coroutines have all of their fuel again behind a barrier, so that loops around
    /// one do not poll; reading the clock costs as much as a small round.
    void round_begins(Launch& launch, std::uint32_t rounds) {
        if (rounds % 64 == 0) poll(launch);
    }
    /// A thread does, because its fuel was used up.
    void gives_up_turn(Launch& launch) {
        if (leaving_ != nullptr) leaving_->count_turn();
        poll(launch);
    }

    [[nodiscard]] RunnerPool& runners() { return runners_; }
    /// The launch is over before the runner's thread is.
    void end(Runner* runner);

    // Memory that is kept for the next launch. Called between launches, on any host thread.
    [[nodiscard]] MemoryUse memory_use() const;
    void give_unused_memory_back();
    void give_all_memory_back();
    void start_counting_memory();
    [[gnu::always_inline]] void switch_to(Runner* runner) {
        running_ = runner;
        runner->fiber.resume();
    }
    /// Looks at the time limit and the host's wish to stop. Runs on the worker's own stack.
    void poll(Launch& launch);
    void print(Launch& launch, std::uint64_t turn, std::string_view text);

    /// What is on the device, between the turns of two threads; null where checkers keep notes on blocks,
    /// which nobody copies. @throws std::bad_alloc
    [[nodiscard]] std::unique_ptr<const SavedDevice> save(const Launch& launch) const;
    /// By site; of launches with stops, which have no other worker.
    [[nodiscard]] const std::vector<CountedWarning>& warnings() const { return warnings_; }

    [[nodiscard]] std::vector<Runner*>& scratch() { return scratch_; }
    [[nodiscard]] const std::int8_t* shadow_base() const { return shadow_base_; }
    [[nodiscard]] Runner* running() { return running_; }

    // Launches with stops (stop.h), while the handler is at work.
    /// A block that has begun and is not over; else nullptr.
    /// Whether threads of other blocks than this one can go on, or are still to start.
    [[nodiscard]] bool others_can_go_on(const Launch& launch, const BlockRun& block) const;
    [[nodiscard]] BlockRun* block_on_device(std::uint64_t block) const;
    /// Linear indices, ascending.
    [[nodiscard]] std::vector<std::uint64_t> blocks_on_device() const;
    /// Threads that are held get turns again.
    void let_held_threads_go();
    /// A block whose turn has not come begins. It goes on behind those that are on the device already.
    /// @throws std::bad_alloc: then it has not begun
    void start_before_its_turn(Launch& launch, std::uint64_t block);

    /// The buffer for BlockContext::captured of its blocks. It is read as soon as a thread has faulted.
    [[nodiscard]] std::uint64_t* captured() { return captured_.data(); }
    /// The worker of this host thread while it runs a launch, for the fault handler; nullptr otherwise.
    [[nodiscard]] static Worker* current();

    /// Float divisions by zero (C3), other arithmetic and negative indices, per site; counted by leaf hooks,
    /// merged after the launch.
    void count_arithmetic(const Runner& runner, std::uint32_t site, findings::FindingKind kind);
    void count_wrapped_index(const Runner& runner, std::uint32_t site, const WrappedIndex& index);

  private:
    void prepare(Launch& launch);
    void run_blocks(Launch& launch);
    void wake_helpers(Launch& launch);
    [[nodiscard]] bool start_blocks(Launch& launch);
    [[nodiscard]] bool start_block(Launch& launch);
    void make_spare(const Launch& launch, std::size_t count = 1);
    void give_shared_back(Launch& launch, const BlockRun& block);
    // Clusters (cluster.cpp).
    [[nodiscard]] std::vector<std::unique_ptr<BlockRun>> start_cluster(Launch& launch, std::uint64_t turn);
    void start_cluster_before_its_turn(Launch& launch, std::uint64_t block);
    void give_cluster_back(Launch& launch, const BlockRun& block);
    void restore_clusters(const Launch& launch);
    void look_at_clusters();
    [[nodiscard]] std::size_t blocks_in_their_turn() const;
    void run_resident(Launch& launch);
    void restore(Launch& launch, const SavedDevice& saved);
    void finish(Launch& launch, std::unique_ptr<BlockRun> block);
    [[nodiscard]] bool may_start_block(const Launch& launch);
    void pass_grid_barrier(Launch& launch);
    void wait_for_grid(Launch& launch);
    void poll_between_blocks(Launch& launch);
    void look_at_spin(Launch& launch);
    [[nodiscard]] bool shows_its_state(const Launch& launch) const;
    void detect_livelock(Launch& launch);
    void report_livelock(Launch& launch);
    void hand_over(Launch& launch, std::vector<std::unique_ptr<BlockRun>>& blocks);
    void adopt_orphans(Launch& launch);
    /// Threads of a resident block meet again and again (BlockRun::gave_turn_up()).
    [[nodiscard]] bool they_meet() const;
    [[nodiscard]] bool state_repeats(const Launch& launch, bool they_meet);
    [[nodiscard]] std::uint64_t state_hash(const Launch& launch) const;
    void stop_all(Launch& launch);
    void report_stop(Launch& launch, BlockRun& block, bool at_grid);
    void tell_grid_deadlock(Launch& launch);
    /// @return whether this is the lowest thread so far; nullptr where the site is not known
    CountedWarning* count_warning(const Runner& runner, std::uint32_t site, bool& is_lowest);
    void merge_counted_warnings(Launch& launch);
    [[nodiscard]] std::byte* shared_slot(Launch& launch);

    RunnerPool runners_;
    unsigned index_;
    std::array<std::uint64_t, jit::captured_slots> captured_{};
    const std::int8_t* shadow_base_ = nullptr;
    Runner* running_ = nullptr;
    std::vector<Runner*> scratch_;
    std::vector<std::unique_ptr<BlockRun>> resident_, spare_;
    Round round_;
    bool round_goes_on_ = false;  ///< round_ is what a checkpoint says
    LeavingLaunch* leaving_ = nullptr;
    bool has_left_ = false;  ///< the launch that run() is called for goes on
    std::vector<std::unique_ptr<BlockRun>>
        before_turn_;  ///< begun by a handler while run_resident() is at work
    std::size_t fewest_spare_ =
        0;  ///< since start_counting_memory(): so many at the front of spare_ were not needed
    std::vector<std::unique_ptr<BlockRun>> at_grid_;  ///< blocks that wait at a grid barrier
    std::uint32_t grid_generation_ = 0;               ///< that the blocks in at_grid_ wait to change
    Clock::time_point left_to_helpers_;               ///< since when blocks are left for them; epoch: never
    std::vector<std::byte*> free_slots_;
    std::map<std::byte*, std::uint64_t> slot_layouts_;
    std::vector<CountedWarning> warnings_;  // by site
    Clock::time_point last_poll_, last_look_;
    unsigned blocks_per_look_ = 1, blocks_since_look_ = 0;
    // Livelock detection: see livelock.cpp.
    std::uint64_t livelock_hash_ = 0;          ///< of the first look of a pair; 0: there was none
    std::uint32_t rounds_to_second_look_ = 0;  ///< behind the first one
    Clock::time_point next_look_;
    bool spinning_ = false;
};

}  // namespace cudasim::execution
