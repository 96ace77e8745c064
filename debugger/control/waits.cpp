// Control's part that says for whom a thread waits, where nobody else may run.
#include <algorithm>

#include "debugger/control/control.h"

namespace cudasim::debugger {

using execution::ThreadWait;

LinearRanges ranges_of_threads(const std::vector<std::uint32_t>& threads) {
    LinearRanges ranges;
    for (const std::uint32_t thread : threads) {
        if (!ranges.empty() && ranges.back().second + 1 == thread)
            ranges.back().second = thread;
        else
            ranges.emplace_back(thread, thread);
    }
    return ranges;
}

namespace {

std::string threads_text(const std::vector<std::uint32_t>& threads) {
    return (threads.size() == 1 ? "thread " : "threads ") + text_of(ranges_of_threads(threads));
}

/// What it waits for, as the end of a sentence.
std::string others_text(const ThreadWait& wait) {
    std::string text;
    if (!wait.threads.empty()) text = threads_text(wait.threads) + " of its block";
    if (!wait.blocks.empty()) {
        const bool is_one =
            wait.blocks.size() == 1 && wait.blocks.front().first == wait.blocks.front().second;
        text += (text.empty() ? "" : ", and ") + std::string(is_one ? "block " : "blocks ") +
                text_of(wait.blocks);
    }
    return text;
}

std::string text_about(const ThreadWait& wait) {
    const std::string others = others_text(wait);
    const std::string whom = others.empty() ? "others, none of which can come any more" : others;
    switch (wait.kind) {
        case ThreadWait::Kind::barrier:
            return "the thread waits at a barrier for " + whom;
        case ThreadWait::Kind::named_barrier:
            return "the thread waits at a barrier of " + std::to_string(wait.wanted) + " threads, of which " +
                   std::to_string(wait.arrived) + " have come; those that can come are " + whom;
        case ThreadWait::Kind::warp:
            return "the thread waits in a warp operation for " + whom;
        case ThreadWait::Kind::cluster:
            return "the thread waits at the barrier of its cluster for " + whom;
        case ThreadWait::Kind::grid:
            return "the thread waits at a barrier of the grid for " + whom;
        case ThreadWait::Kind::memory:
            return "the thread has run for a second: it waits for memory that others write, or computes for "
                   "long";
        case ThreadWait::Kind::none:
            break;
    }
    return "the thread cannot go on alone";
}

}  // namespace

void Control::say_for_whom(const Movement& movement, StopNotice& notice) const {
    const ThreadWait wait = launch_->wait_of(movement.thread);
    notice = notice_of(StopReason::step, "waits");
    notice.notes.push_back(text_about(wait));
    if (!wait.ended.empty())
        notice.notes.push_back("the operation names " + threads_text(wait.ended) +
                               " too, which have ended and will never come");
    notice.wait = wait;
}

}  // namespace cudasim::debugger
