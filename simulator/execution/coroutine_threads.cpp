// See coroutine_threads.h.
#include "simulator/execution/coroutine_threads.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "simulator/execution/warp_exchange.h"

namespace cudasim::execution {

using jit::thread_carried, jit::thread_fresh, jit::thread_over, jit::thread_waits, jit::warp_size;

void CoroutineThreads::start(const jit::CompiledKernel* kernel, std::uint32_t threads,
                             jit::BlockContext& context) {
    const bool coroutine = kernel && !kernel->resume_points.empty();
    kernel_ = coroutine ? kernel : nullptr;
    lanes_meet_ = coroutine && std::ranges::any_of(kernel->resume_points, &jit::ResumePoint::in_warp);
    states_.assign(coroutine ? threads : 0, thread_fresh);
    votes_.assign(states_.size(), 0);
    // Frames keep what an earlier block left there: a thread only reads what it has written.
    frames_.resize(coroutine ? threads * kernel->coroutine_frame_bytes : 0);
    operations_.assign(lanes_meet_ ? threads : 0, {});
    context.thread_states = states_.data();
    context.thread_frames = frames_.data();
    context.thread_votes = votes_.data();
    context.lane_operations = operations_.data();
}

/// Where it waits, or waited until it was let go; null for threads that are fresh, over, or on a fiber.
const jit::ResumePoint* CoroutineThreads::point_of(std::uint32_t thread) const {
    const std::uint32_t state = states_[thread];
    if (state == thread_over || state == thread_fresh || state == thread_carried) return nullptr;
    return &kernel_->resume_points[(state & ~thread_waits) - 1];
}

/// Handles the usual case: every thread waits at one barrier, or all are over. Returns nullopt in all other
/// cases.
std::optional<CoroutineThreads::Phase> CoroutineThreads::uniform_phase() const {
    const std::uint32_t state = states_.front();
    // Each equals the next one. memcmp() takes a vector register at a time.
    if (std::memcmp(states_.data(), states_.data() + 1, (states_.size() - 1) * sizeof(std::uint32_t)) != 0)
        return std::nullopt;
    Phase phase;
    const auto all = static_cast<std::uint32_t>(states_.size());
    if (state == thread_over) {
        phase.over = all;
        return phase;
    }
    const jit::ResumePoint* point = point_of(0);
    if (point == nullptr || point->in_warp) return std::nullopt;
    phase.waiting = all;
    phase.kind = point->kind;
    if (point->kind != jit::BarrierKind::plain && point->kind != jit::BarrierKind::grid)
        phase.votes = std::reduce(votes_.begin(), votes_.end(), std::uint32_t{0});
    return phase;
}

CoroutineThreads::Phase CoroutineThreads::phase() const {
    if (const std::optional<Phase> phase = uniform_phase()) return *phase;
    Phase phase;
    std::uint32_t lowest = thread_over, highest = 0;
    for (const std::uint32_t state : states_) {
        phase.over += state == thread_over;
        lowest = std::min(lowest, state);
        highest = std::max(highest, state + 1);  // over becomes 0
    }
    phase.waiting = static_cast<std::uint32_t>(states_.size()) - phase.over;
    if (phase.waiting == 0) return phase;
    phase.mixed = lowest + 1 != highest;
    if (lanes_meet_) {
        for (std::uint32_t thread = 0; thread < states_.size(); ++thread) {
            const jit::ResumePoint* point = point_of(thread);
            phase.in_warp += point != nullptr && point->in_warp;
        }
        phase.waiting -= phase.in_warp;
        if (phase.waiting == 0) return phase;
    }
    for (std::uint32_t thread = 0; thread < states_.size(); ++thread) {
        const jit::ResumePoint* point = point_of(thread);
        if (point == nullptr || point->in_warp) continue;
        phase.kind = point->kind;
        break;
    }
    if (phase.kind == jit::BarrierKind::plain || phase.kind == jit::BarrierKind::grid) return phase;
    for (std::size_t i = 0; i < states_.size(); ++i)
        phase.votes += states_[i] != thread_over && votes_[i] != 0;
    return phase;
}

std::vector<Waiter> CoroutineThreads::waiters() const {
    std::vector<Waiter> result;
    for (std::uint32_t thread = 0; thread < states_.size(); ++thread) {
        const jit::ResumePoint* point = point_of(thread);
        if (point == nullptr) continue;
        result.push_back({thread, point->site, point->kind, point->in_warp,
                          lanes_meet_ && (states_[thread] & thread_waits) == 0});
    }
    return result;
}

void CoroutineThreads::release_all() {
    for (std::uint32_t& state : states_) state = state >= thread_carried ? state : state & ~thread_waits;
}

// Warp operations ------------------------------------------------------------------------------------------

CoroutineThreads::Lanes CoroutineThreads::lanes_of(std::uint32_t first) const {
    Lanes lanes;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
        const std::uint32_t bit = std::uint32_t{1} << lane;
        if (first + lane >= states_.size() || states_[first + lane] == thread_over)
            lanes.over |= bit;
        else if ((states_[first + lane] & thread_waits) == 0)
            continue;
        else if (const jit::ResumePoint* point = point_of(first + lane); point && point->in_warp)
            lanes.waiting |= bit;
    }
    return lanes;
}

/// Those that have come to the lane's operation: the same kind with the same mask.
std::uint32_t CoroutineThreads::companions(std::uint32_t first, std::uint32_t waiting,
                                           std::uint32_t lane) const {
    const jit::WarpKind kind = point_of(first + lane)->warp_kind;
    const std::uint32_t mask = operations_[first + lane].mask;
    return lanes_where(waiting & mask, [&](std::uint32_t other) {
        return operations_[first + other].mask == mask && point_of(first + other)->warp_kind == kind;
    });
}

/// Handles the usual case: 32 lanes in one state. Returns nullopt in all other cases.
std::optional<bool> CoroutineThreads::complete_uniform_warp(std::uint32_t first) {
    if (first + warp_size > states_.size()) return std::nullopt;
    std::uint32_t* states = &states_[first];
    jit::LaneOperation* operations = &operations_[first];
    const std::uint32_t state = states[0];
    std::uint32_t differs = 0, mask = ~std::uint32_t{0};
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
        differs |= states[lane] ^ state;
        mask &= operations[lane].mask;
    }
    if (differs != 0 || (state & thread_waits) == 0) return std::nullopt;
    if (state >= thread_carried) return false;
    const jit::ResumePoint& point = kernel_->resume_points[(state & ~thread_waits) - 1];
    if (!point.in_warp) return false;
    if (mask != ~std::uint32_t{0}) return std::nullopt;
    exchange(point.warp_kind, operations, mask);
    std::fill_n(states, warp_size, state & ~thread_waits);
    return true;
}

bool CoroutineThreads::complete_warp(std::uint32_t warp, SkippedOperations& skipped) {
    const std::uint32_t first = warp * warp_size;
    if (const std::optional<bool> done = complete_uniform_warp(first)) return *done;
    const Lanes lanes = lanes_of(first);
    std::uint32_t waiting = lanes.waiting;
    bool any = false;
    for (std::uint32_t left = waiting; left != 0;) {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
        left &= left - 1;
        const std::uint32_t here = companions(first, waiting, lane);
        const std::uint32_t mask = operations_[first + lane].mask;
        if ((mask & ~lanes.over & ~here) != 0) continue;
        skipped.complete(first, mask, here, mask & ~here,
                         [&](std::uint32_t other) { return point_of(first + other)->site; });
        exchange(point_of(first + lane)->warp_kind, &operations_[first], here);
        for_each_lane(here, [&](std::uint32_t other) { states_[first + other] &= ~thread_waits; });
        left &= ~here;
        waiting &= ~here;
        any = true;
    }
    return any;
}

std::uint32_t CoroutineThreads::mask_of(std::uint32_t thread) const {
    if (thread >= states_.size()) return 0;
    const Lanes lanes = lanes_of(thread / warp_size * warp_size);
    return (lanes.waiting >> thread % warp_size & 1) != 0 ? operations_[thread].mask : 0;
}

WaitingLane CoroutineThreads::first_waiting_lane() const {
    std::uint32_t first = 0;
    Lanes lanes = lanes_of(first);
    while (lanes.waiting == 0) lanes = lanes_of(first += warp_size);
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes.waiting));
    const std::uint32_t mask = operations_[first + lane].mask;
    return {first + lane, point_of(first + lane)->site, mask,
            mask & ~lanes.over & ~companions(first, lanes.waiting, lane)};
}

}  // namespace cudasim::execution
