// See grid_barrier.h.
#include "simulator/execution/grid_barrier.h"

#include <algorithm>

namespace cudasim::execution {

void GridBarrier::arrive(std::uint64_t blocks) {
    std::unique_lock lock(mutex_);
    arrived_ += blocks;
    settle(std::move(lock));
}

void GridBarrier::leave(std::uint64_t block, bool broken) {
    std::unique_lock lock(mutex_);
    if (broken)
        ++broken_;
    else
        ended_.push_back(static_cast<std::uint32_t>(block));
    settle(std::move(lock));
}

GridBarrier::State GridBarrier::state() const {
    const std::lock_guard lock(mutex_);
    return {arrived_, broken_, ended_, generation()};
}

void GridBarrier::restore(const State& state) {
    const std::lock_guard lock(mutex_);
    arrived_ = state.arrived;
    broken_ = state.broken;
    ended_ = state.ended;
    generation_ = state.generation;
    waiting_.clear();
    deadlocked_ = false;
}

void GridBarrier::leave_unstarted(std::uint64_t blocks) {
    std::unique_lock lock(mutex_);
    broken_ += blocks;
    settle(std::move(lock));
}

/// Has everybody come who can?
void GridBarrier::settle(std::unique_lock<std::mutex> lock) {
    if (arrived_ == 0 || arrived_ + broken_ + ended_.size() != blocks_) return;
    if (ended_.empty()) {
        arrived_ = 0;
        generation_.fetch_add(1, std::memory_order_release);
    } else {
        deadlocked_.store(true, std::memory_order_release);
    }
    lock.unlock();
    changed_.notify_all();
}

void GridBarrier::wait(std::uint32_t generation, std::chrono::microseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return this->generation() != generation || deadlocked(); });
}

void GridBarrier::note_waiting(std::vector<findings::WaitingGroup> groups) {
    std::lock_guard lock(mutex_);
    for (auto& group : groups) waiting_.push_back(std::move(group));
}

std::vector<findings::WaitingGroup> GridBarrier::take_waiting() {
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](const auto& a, const auto& b) { return a.block < b.block; });
    return std::move(waiting_);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> GridBarrier::ended() const {
    std::vector<std::uint32_t> blocks = ended_;
    std::sort(blocks.begin(), blocks.end());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    for (const std::uint32_t block : blocks) {
        if (!ranges.empty() && ranges.back().second + 1 == block)
            ranges.back().second = block;
        else
            ranges.emplace_back(block, block);
    }
    return ranges;
}

}  // namespace cudasim::execution
