// For whom a thread of a block waits (ThreadWait), while a stop's handler is at work.
#include <algorithm>

#include "simulator/execution/block_run.h"

namespace cudasim::execution {

namespace {

template <typename Waiting>
const Runner* runner_of(const Waiting& waiting, std::uint32_t thread) {
    const auto found =
        std::ranges::find(waiting, thread, [](const Runner* runner) { return runner->thread; });
    return found != waiting.end() ? *found : nullptr;
}

[[nodiscard]] bool can_come(ThreadState state) {
    return state < ThreadState::faulted;
}

}  // namespace

ThreadWait BlockRun::wait_of(std::uint32_t thread) const {
    using Kind = ThreadWait::Kind;
    ThreadWait wait;
    const std::vector<ThreadPlace> places = places_of_threads();
    const ThreadState state = places[thread].state;
    if (state == ThreadState::spins) wait.kind = Kind::memory;
    if (state == ThreadState::in_warp) {
        wait.kind = Kind::warp;
        wait_in_warp(thread, places, wait);
    }
    if (state != ThreadState::at_barrier) return wait;
    const std::vector<Runner*> named = named_.waiting();
    if (runner_of(named_.cluster().waiting(), thread) != nullptr) {
        wait.kind = Kind::cluster;
        for (std::uint32_t other = 0; other < places.size(); ++other)
            if (!named_.cluster().has_arrived(other) && can_come(places[other].state))
                wait.threads.push_back(other);
        return wait;
    }
    if (const Runner* runner = runner_of(named, thread)) {
        const NamedBarriers::Progress progress = named_.progress(runner->named.number);
        wait.kind = Kind::named_barrier;
        wait.wanted = progress.threads;
        wait.arrived = progress.arrived + progress.in_part;
        for (std::uint32_t other = 0; other < places.size(); ++other) {
            const Runner* there = runner_of(named, other);
            const bool has_come = there != nullptr && !jit::is_of_cluster(there->named.kind) &&
                                  there->named.number == runner->named.number;
            if (!has_come && can_come(places[other].state)) wait.threads.push_back(other);
        }
        return wait;
    }
    wait.kind = Kind::barrier;
    for (const Waiter& each : waiters())
        if (each.thread == thread && each.kind == jit::BarrierKind::grid) wait.kind = Kind::grid;
    for (std::uint32_t other = 0; other < places.size(); ++other) {
        const bool has_come = places[other].state == ThreadState::at_barrier &&
                              place(places[other].site) == place(places[thread].site);
        if (!has_come && can_come(places[other].state)) wait.threads.push_back(other);
    }
    return wait;
}

/// Lanes that the thread's operation names and that have not come to one of the same kind with the same mask.
void BlockRun::wait_in_warp(std::uint32_t thread, const std::vector<ThreadPlace>& places,
                            ThreadWait& wait) const {
    const std::vector<Runner*> waiting = warps_.tracks() ? warps_.waiting() : std::vector<Runner*>();
    const auto operation_of = [&](std::uint32_t lane) {
        if (coroutines_.active()) return coroutines_.operation_of(lane);
        const Runner* runner = runner_of(waiting, lane);
        return runner != nullptr ? std::pair(runner->warp.kind, runner->warp.mask)
                                 : std::pair(jit::WarpKind{}, std::uint32_t{0});
    };
    const auto operation = operation_of(thread);
    const std::uint32_t first = thread / jit::warp_size * jit::warp_size;
    if (operation.first == jit::WarpKind::active) {  // until nothing else of the block can run
        for (std::uint32_t other = 0; other < places.size(); ++other)
            if (places[other].state <= ThreadState::spins) wait.threads.push_back(other);
        return;
    }
    for (std::uint32_t lane = 0; lane < jit::warp_size; ++lane) {
        if ((operation.second >> lane & 1) == 0 || first + lane >= places.size()) continue;
        const ThreadPlace& there = places[first + lane];
        if (there.state == ThreadState::in_warp && operation_of(first + lane) == operation) continue;
        (can_come(there.state) ? wait.threads : wait.ended).push_back(first + lane);
    }
}

bool BlockRun::has_come_to_grid() const {
    if (at_grid_) return true;
    bool any = false;
    for (const ThreadPlace& each : places_of_threads()) {
        if (each.state == ThreadState::over || each.state == ThreadState::faulted) continue;
        if (each.state != ThreadState::at_barrier) return false;
        any = true;
    }
    return any && std::ranges::all_of(waiters(),
                                      [](const Waiter& each) { return each.kind == jit::BarrierKind::grid; });
}

}  // namespace cudasim::execution
