// Livelock (E5): every thread that is left spins, and one round later the whole machine is in the same state.
//
// The state is what the threads' future depends on: their saved stacks and registers, shared memory, device
// memory, and who is to go on next where threads take turns (interleaving.h). If a round of turns in which
// each thread goes on brings it back unchanged, the next round will too, for ever; so this can be said
// without a time limit and is never wrong. (A spin that counts its own iterations changes its state and is
// left to the time limit.) The same holds of blocks whose threads meet in loops, at barriers or in warp
// operations, and gave their turn up (BlockRun::gave_turn_up()): they come back to where they were if their
// loop has a length that divides their turn. Other workers hand their spinning blocks to worker 0 first, so
// that it sees all of it.
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "simulator/execution/fault_report.h"
#include "simulator/execution/worker.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

using findings::Finding;
using findings::FindingKind;

namespace {

/// Spinning shorter than this is normal waiting and not worth looking at the state.
constexpr auto patience = std::chrono::milliseconds(100);
std::chrono::milliseconds patience_with(bool they_meet) {
    return they_meet ? 10 * patience : patience;
}
constexpr std::size_t most_groups = 16;

class StateHash {
  public:
    void add(const void* first, std::size_t bytes) {
        value_ = (value_ ^ llvm::xxh3_64bits({static_cast<const std::uint8_t*>(first), bytes})) *
                 0x9E3779B97F4A7C15ULL;
    }
    void add(const std::vector<Runner*>& runners) {
        for (const Runner* runner : runners) {
            const auto* position = static_cast<const std::byte*>(runner->fiber.saved_position());
            add(position, static_cast<std::size_t>(runner->stack.top - position));
            add(static_cast<const jit::ThreadContext*>(runner), sizeof(jit::ThreadContext));
        }
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 1;
};

}  // namespace

/// The lowest thread that spins, or of those that meet in a loop the lowest one of all.
static std::pair<std::uint32_t, findings::CallChain> lowest_spinner(const Launch& launch,
                                                                    const BlockRun& block) {
    const auto& spinning = block.spinning();
    const auto lowest = std::ranges::min_element(spinning, {}, &Runner::thread);
    if (lowest != spinning.end()) return {(*lowest)->thread, launch.location((*lowest)->site)};
    const auto groups = block.places();
    const auto first = std::ranges::min_element(
        groups, {}, [](const findings::WaitingGroup& group) { return group.threads.front().first; });
    return {first->threads.front().first, first->location};
}

std::uint64_t Worker::state_hash(const Launch& launch) const {
    StateHash hash;
    for (const auto& block : resident_) {
        hash.add(block->spinning());
        hash.add(block->able());
        const std::vector<std::uint32_t> turns = block->turns();
        hash.add(turns.data(), turns.size() * sizeof turns[0]);
        hash.add(block->waiting());
        hash.add(block->warps().waiting());
        hash.add(block->named_barriers().waiting());
        const CoroutineThreads& coroutines = block->coroutines();
        hash.add(coroutines.states().data(), coroutines.states().size() * sizeof(std::uint32_t));
        hash.add(coroutines.frames().data(), coroutines.frames().size());
        const auto& lanes = coroutines.lane_operations();
        hash.add(lanes.data(), lanes.size() * sizeof lanes[0]);
        if (launch.shared_bytes != 0) hash.add(block->shared(), launch.shared_bytes);
        block->interleaving().visit_state(
            [&hash](const void* first, std::size_t bytes) { hash.add(first, bytes); });
    }
    std::lock_guard lock(*launch.arena_mutex);
    launch.arena->for_each_live([&](const memory::Allocation& allocation) {
        hash.add(reinterpret_cast<const void*>(allocation.address), allocation.bytes);
    });
    return hash.value();
}

/// Whether the state is what it was at the last look. Looking costs time when there is much memory: the
/// second look of a pair follows as soon as every thread has had its turn, the next pair after many times as
/// long.
bool Worker::state_repeats(const Launch& launch, bool they_meet) {
    const Clock::time_point now = Clock::now();
    const std::uint64_t hash = state_hash(launch);
    // A turn of a block whose warps meet is one of eight warps at the most.
    constexpr std::uint32_t turns_of_all_warps = 4;
    rounds_to_second_look_ = resident_.empty() ? 1 : resident_.front()->interleaving().period();
    if (they_meet) rounds_to_second_look_ *= turns_of_all_warps;
    if (livelock_hash_ == hash) return true;
    const bool second_look = livelock_hash_ != 0;
    livelock_hash_ = second_look ? 0 : hash;
    if (second_look)
        next_look_ = now + patience_with(they_meet) + (they_meet ? 100 : 10) * (Clock::now() - now);
    return false;
}

void Worker::detect_livelock(Launch& launch) {
    const bool they_meet = this->they_meet();
    const Clock::time_point now = Clock::now();
    if (!spinning_) {
        spinning_ = true;
        livelock_hash_ = 0;
        next_look_ = now + patience_with(they_meet);
    }
    if (now < next_look_) return;
    if (livelock_hash_ != 0 && --rounds_to_second_look_ != 0) return;
    // Threads that meet are seldom stuck: other workers are not disturbed before it looks so.
    if (they_meet && !state_repeats(launch, they_meet)) return;
    if (index_ != 0) {
        hand_over(launch, resident_);
        hand_over(launch, at_grid_);
        return;
    }
    launch.gather.store(true, std::memory_order_relaxed);
    adopt_orphans(launch);
    if (launch.helpers.load() != 0) return;
    if (they_meet ? spinning_ : state_repeats(launch, they_meet)) report_livelock(launch);
}

void Worker::report_livelock(Launch& launch) {
    BlockRun* lowest = nullptr;
    for (const auto& block : resident_) {
        if (block->spinning().empty() && !block->gave_turn_up()) continue;  // all of it waits for its cluster
        if (lowest == nullptr || block->block() < lowest->block()) lowest = block.get();
    }
    if (lowest == nullptr) return;
    const auto [thread, place] = lowest_spinner(launch, *lowest);
    Finding finding = finding_at(launch, FindingKind::livelock, lowest->coordinate(thread), place);
    finding.threads = 0;
    for (const auto* blocks : {&resident_, &at_grid_})
        for (const auto& block : *blocks)
            for (auto& group : block->places()) {
                finding.threads += threads_in({group});
                if (finding.waiting.size() < most_groups) finding.waiting.push_back(std::move(group));
            }
    finding.count = finding.threads;
    finding.message =
        "no thread can ever go on: every thread left waits in a loop for a change that nothing can make: " +
        describe_groups(finding.waiting);
    if (launch.stops) launch.stops->tell_early_end(*this, *lowest, finding);
    launch.findings.add(std::move(finding));
    launch.request_stop(Stop::livelock);
}

void Worker::hand_over(Launch& launch, std::vector<std::unique_ptr<BlockRun>>& blocks) {
    std::lock_guard lock(launch.orphans_mutex);
    for (auto& block : blocks) {
        if (launch.shared_bytes != 0)
            for (std::byte* slot : block->cluster_shared()) slot_layouts_.erase(slot);
        launch.orphans.push_back(std::move(block));
    }
    blocks.clear();
}

void Worker::adopt_orphans(Launch& launch) {
    std::lock_guard lock(launch.orphans_mutex);
    for (auto& block : launch.orphans) {
        if (launch.shared_bytes != 0) {
            for (std::byte* slot : block->cluster_shared()) slot_layouts_.try_emplace(slot, 0);
            slot_layouts_[block->shared()] = launch.shared_layout;
        }
        block->move_to(*this);
        spinning_ = false;
        if (block->is_at_grid() && block->grid_generation() == grid_generation_) {
            at_grid_.push_back(std::move(block));
            continue;
        }
        if (block->is_at_grid()) block->pass_grid_barrier();
        resident_.push_back(std::move(block));
    }
    launch.orphans.clear();
}

}  // namespace cudasim::execution
