// A worker's part in cooperative launches: its blocks at the grid barrier (grid_barrier.h), and its share of
// the blocks.
//
// A block keeps its worker, because its threads may be fibers on the worker's stacks. So once helpers have
// been woken, nobody takes more than a fair share of the blocks, as long as the others can be expected to
// take theirs.
#include <algorithm>

#include "simulator/execution/fault_report.h"
#include "simulator/execution/stop.h"
#include "simulator/execution/worker.h"

namespace cudasim::execution {

namespace {

/// How long a worker with its share leaves the rest to others who have yet to wake up.
constexpr auto helper_grace = std::chrono::microseconds(200);
/// Workers wait at a grid barrier first in a loop of about 20 µs and then asleep, and look around after each
/// limit.
constexpr int grid_spins = 500;
constexpr auto grid_wait = std::chrono::microseconds(2000), short_grid_wait = std::chrono::microseconds(20);

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

/// On this worker's device, without those that were started before their turn: they take nobody's place.
std::size_t Worker::blocks_in_their_turn() const {
    const auto early = [](const auto& blocks) {
        return static_cast<std::size_t>(
            std::ranges::count_if(blocks, [](const auto& block) { return block->is_before_turn(); }));
    };
    return resident_.size() + at_grid_.size() - early(resident_) - early(at_grid_);
}

bool Worker::may_start_block(const Launch& launch) {
    const std::size_t held = launch.stops ? blocks_in_their_turn() : resident_.size() + at_grid_.size();
    if (held + launch.blocks_at_a_time > launch.resident_blocks) return false;
    if (!launch.all_resident || !launch.helpers_woken || held < launch.blocks_per_worker ||
        !launch.blocks_left())
        return true;
    if (left_to_helpers_ == Clock::time_point{}) left_to_helpers_ = Clock::now();
    return Clock::now() - left_to_helpers_ > helper_grace;
}

void Worker::pass_grid_barrier(Launch& launch) {
    if (!launch.cooperative) return;
    if (launch.grid.deadlocked()) launch.request_stop(Stop::deadlock);
    const std::uint32_t generation = launch.grid.generation();
    if (generation == grid_generation_) return;
    grid_generation_ = generation;
    if (launch.options.order() == Policy::random)
        RandomNumbers(RandomNumbers(launch.options.seed).next() ^ generation).shuffle(at_grid_);
    for (auto& block : at_grid_) {
        block->pass_grid_barrier();
        resident_.push_back(std::move(block));
    }
    at_grid_.clear();
    poll_between_blocks(launch);
}

/// All that this worker has waits for blocks that others have, or that nobody has started yet.
void Worker::wait_for_grid(Launch& launch) {
    if (launch.no_new_blocks.load(std::memory_order_relaxed)) {
        if (const std::uint64_t blocks = launch.give_up_blocks(); blocks != 0)
            launch.grid.leave_unstarted(blocks);
    }
    const bool blocks_left = launch.blocks_left();
    if (blocks_left && !launch.all_resident &&
        blocks_in_their_turn() + launch.blocks_at_a_time > launch.resident_blocks) {
        launch.request_stop(Stop::deadlock);  // a host kernel of which nobody knew that it is cooperative
        return;
    }
    const auto goes_on = [&] {
        return launch.grid.generation() != grid_generation_ || launch.grid.deadlocked();
    };
    for (int i = 0; i < grid_spins; ++i) {
        if (goes_on()) return;
        pause();
    }
    launch.grid.wait(grid_generation_, blocks_left ? short_grid_wait : grid_wait);
    if (goes_on()) return;
    if (index_ == 0)
        adopt_orphans(launch);
    else if (launch.gather.load(std::memory_order_relaxed))
        hand_over(launch, at_grid_);
    poll(launch);
}

/// Blocks wait at a grid barrier, and others never come. The handler is told of it while all of them are
/// there.
void Worker::tell_grid_deadlock(Launch& launch) {
    if (at_grid_.empty() || launch.stops->is_to_go_back()) return;
    BlockRun* lowest = at_grid_.front().get();
    try {
        for (const auto& block : at_grid_) {
            launch.grid.note_waiting(block->places());
            if (block->block() < lowest->block()) lowest = block.get();
        }
        launch.stops->tell_early_end(*this, *lowest, describe_deadlock(launch));
    } catch (const std::bad_alloc&) {
        launch.run_out_of_memory({}, 0);
    }
}

}  // namespace cudasim::execution
