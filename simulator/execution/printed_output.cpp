// See printed_output.h.
#include "simulator/execution/printed_output.h"

#include <chrono>

namespace cudasim::execution {

namespace {

/// CUDA's default printf buffer (cudaLimitPrintfFifoSize). A GPU overwrites what does not fit; here workers
/// wait.
constexpr std::size_t most_ready = std::size_t{1} << 20;
/// Text of blocks whose turn has not come; beyond it order gives way.
constexpr std::size_t most_held = std::size_t{8} << 20;
constexpr auto patience = std::chrono::milliseconds(5);

}  // namespace

void PrintedOutput::add(std::uint64_t turn, std::string_view text) {
    std::lock_guard lock(mutex_);
    Block& block = blocks_[turn];
    block.text += text;
    held_ += text.size();
    if (turn <= next_ || held_ > most_held) release_lines(block);
}

void PrintedOutput::finish(std::uint64_t turn) {
    std::lock_guard lock(mutex_);
    if (turn >= next_) {
        blocks_[turn].over = true;
        release_in_order();
    } else if (const auto again = blocks_.find(turn); again != blocks_.end()) {
        // The launch went back, and the block has printed something else.
        held_ -= again->second.text.size();
        ready_ += again->second.text;
        blocks_.erase(again);
    }
}

/// A line that is not whole yet stays with its block.
void PrintedOutput::release_lines(Block& block) {
    const std::size_t lines = block.text.rfind('\n') + 1;
    ready_.append(block.text, 0, lines);
    block.text.erase(0, lines);
    held_ -= lines;
}

void PrintedOutput::release_in_order() {
    for (auto first = blocks_.find(next_); first != blocks_.end(); first = blocks_.find(next_)) {
        if (!first->second.over) return release_lines(first->second);
        held_ -= first->second.text.size();
        ready_ += first->second.text;
        blocks_.erase(first);
        ++next_;
    }
}

bool PrintedOutput::full() const {
    std::lock_guard lock(mutex_);
    return ready_.size() > most_ready;
}

void PrintedOutput::wait_for_room() {
    std::unique_lock lock(mutex_);
    room_.wait_for(lock, patience, [this] { return ready_.size() <= most_ready; });
}

bool PrintedOutput::write() {
    std::string text;
    {
        std::lock_guard lock(mutex_);
        text.swap(ready_);
    }
    room_.notify_all();
    return text.empty() || !sink_ || sink_(text);
}

bool PrintedOutput::write_rest() {
    {
        std::lock_guard lock(mutex_);
        for (auto& [turn, block] : blocks_) ready_ += block.text;
        blocks_.clear();
        held_ = 0;
    }
    return write();
}

}  // namespace cudasim::execution
