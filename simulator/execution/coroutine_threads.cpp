// See coroutine_threads.h.
#include "simulator/execution/coroutine_threads.h"

#include <algorithm>

namespace cudasim::execution {

void CoroutineThreads::start(const jit::CompiledKernel* kernel, std::uint32_t threads, jit::BlockContext& context) {
    const bool coroutine = kernel && !kernel->resume_points.empty();
    kernel_ = coroutine ? kernel : nullptr;
    states_.assign(coroutine ? threads : 0, jit::thread_fresh);
    votes_.assign(states_.size(), 0);
    // Frames keep what an earlier block left there: a thread only reads what it has written.
    frames_.resize(coroutine ? threads * kernel->coroutine_frame_bytes : 0);
    context.thread_states = states_.data();
    context.thread_frames = frames_.data();
    context.thread_votes = votes_.data();
}

CoroutineThreads::Phase CoroutineThreads::phase() const {
    std::uint32_t over = 0, lowest = jit::thread_over, highest = 0;
    for (const std::uint32_t state : states_) {
        over += state == jit::thread_over;
        lowest = std::min(lowest, state);
        highest = std::max(highest, state + 1);  // over becomes 0
    }
    Phase phase;
    phase.over = over;
    phase.waiting = static_cast<std::uint32_t>(states_.size()) - over;
    if (phase.waiting == 0) return phase;
    phase.mixed = lowest + 1 != highest;
    const auto first = std::find_if(states_.begin(), states_.end(), [](std::uint32_t state) { return state != jit::thread_over; });
    phase.kind = kernel_->resume_points[*first - 1].kind;
    if (phase.kind == jit::BarrierKind::plain) return phase;
    for (std::size_t i = 0; i < states_.size(); ++i) phase.votes += states_[i] != jit::thread_over && votes_[i] != 0;
    return phase;
}

std::vector<Waiter> CoroutineThreads::waiters() const {
    std::vector<Waiter> result;
    for (std::uint32_t thread = 0; thread < states_.size(); ++thread) {
        const std::uint32_t state = states_[thread];
        if (state == jit::thread_over || state == jit::thread_fresh) continue;
        const jit::ResumePoint& point = kernel_->resume_points[state - 1];
        result.push_back({thread, point.site, point.kind});
    }
    return result;
}

}  // namespace cudasim::execution
