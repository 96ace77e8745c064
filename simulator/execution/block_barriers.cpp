// What the scheduler of a block does when barriers are complete, and its part of those for some of the
// block's threads (named_barriers.h).
#include <algorithm>
#include <map>

#include "simulator/execution/block_run.h"
#include "simulator/execution/fault_report.h"
#include "simulator/execution/worker.h"

namespace cudasim::execution {

using findings::Finding;
using findings::FindingKind;
using findings::WaitingGroup;

namespace {

using Misuse = NamedBarriers::Misuse;

/// What follows "barrier 3 for 48 threads: ".
const char* explanation(Misuse misuse) {
    switch (misuse) {
        case Misuse::number:
            return "a block has barriers 0 to 15";
        case Misuse::threads:
            return "the number of threads has to be a positive multiple of 32";
        case Misuse::other_threads:
            return "others have come to it for another number of threads";
        case Misuse::other_kind:
            return "others have come to it with another kind of instruction, and bar.red must not be mixed "
                   "with any";
        case Misuse::none:
            break;
    }
    return "";
}

/// What follows "16 of 32 threads have come".
std::string in_part(const NamedBarriers::Progress& progress) {
    if (progress.in_part == 0) return "";
    return ", besides " + std::to_string(progress.in_part) + " of warps that have not come as a whole";
}

}  // namespace

/// Whether the runner's thread goes on now. If not it waits, or is faulted, which is still to be handled.
bool BlockRun::arrive_at_named(Runner* runner, std::uint32_t& first) {
    ended(first, runner->thread);
    first = runner->thread;
    if (jit::is_of_cluster(runner->named.kind)) return arrive_at_cluster(runner);
    const Misuse misuse = named_.arrive(runner, warps_, context_.thread_count);
    if (misuse != Misuse::none) {
        runner->fault = {};
        runner->fault.source = Fault::Source::barrier;
        runner->fault.kind = FindingKind::invalid_barrier;
        runner->fault.what = explanation(misuse);
        runner->event = Event::faulted;
        return false;
    }
    const bool waits = runner->named.kind != jit::BarrierKind::arrive;
    if (waits) {
        cut(runner);
        disordered_ = true;
    }
    complete_named();
    return !waits;
}

/// Barriers to which enough threads have come: those that wait there go on when the
/// runners that run now have stopped.
void BlockRun::complete_named() {
    named_.complete([&](const NamedBarriers::Complete& barrier) {
        if (barrier.missing != 0 && !barrier.waiting.empty()) {
            std::vector<Waiter> waiting;
            for (const Runner* runner : barrier.waiting)
                waiting.push_back({runner->thread, runner->site, runner->named.kind});
            std::ranges::sort(waiting, {}, &Waiter::thread);
            report_early_exit(waiting, barrier.missing, "");
        }
        if (!began_) return;
        std::vector<std::uint32_t> waiting;
        for (const Runner* runner : barrier.waiting) waiting.push_back(runner->thread);
        launch_->options.observers.named_barrier(
            observed(), {barrier.number, barrier.threads, barrier.arrivals, waiting});
    });
}

/// Thread 0 signals its block's arrival (cooperative_groups/details/sync.h of CUDA's toolkit, sync_grids).
bool BlockRun::first_thread_is_over() const {
    return over_ != 0 && faulted_ == 0 && waiters().front().thread != 0;
}

void BlockRun::pass_grid_barrier() {
    at_grid_ = false;
    idle_rounds_ = 0;
    release_waiting();
}

std::int32_t BlockRun::barrier_result() const {
    switch (barrier_kind_) {
        case jit::BarrierKind::plain:
        case jit::BarrierKind::grid:
            return 0;
        case jit::BarrierKind::count:
            return static_cast<std::int32_t>(votes_);
        case jit::BarrierKind::all:
            return votes_ == waiting_count_;
        case jit::BarrierKind::any:
            return votes_ != 0;
        case jit::BarrierKind::arrive:  // of named barriers only
        case jit::BarrierKind::cluster_arrive:
        case jit::BarrierKind::cluster_wait:
            break;
    }
    return 0;
}

/// Their turn is now, in the order of the phase.
void BlockRun::run_named() {
    ++meetings_;
    named_.take_free(ready_);
    put_in_order(ready_);
    by_warp_ = true;
    progress_ = true;
}

void BlockRun::add_named_groups(std::vector<WaitingGroup>& groups) const {
    std::map<std::uint32_t, std::vector<Waiter>> by_number;
    for (const Runner* runner : named_.waiting())
        if (!jit::is_of_cluster(runner->named.kind))
            by_number[runner->named.number].push_back({runner->thread, runner->site, runner->named.kind});
    for (const auto& [number, threads] : by_number) {
        const auto progress = named_.progress(number);
        const std::string state =
            "waiting at barrier " + std::to_string(number) + " (" + std::to_string(progress.arrived) +
            " of " + std::to_string(progress.threads) + " threads have come" + in_part(progress) + ")";
        add_groups(groups, threads, state.c_str());
    }
}

/// Nobody can go on, and threads wait at barriers to which too few have come.
void BlockRun::report_named_deadlock() {
    const Runner& lowest = *named_.waiting().front();
    Finding finding = finding_at(FindingKind::deadlock, lowest.thread, lowest.site);
    finding.waiting = places();
    finding.threads = finding.count = threads_in(finding.waiting);
    const auto progress = named_.progress(lowest.named.number);
    finding.message = "barrier " + std::to_string(lowest.named.number) + " waits for " +
                      std::to_string(progress.threads) + " threads, of which only " +
                      std::to_string(progress.arrived) + " come" + in_part(progress) +
                      (over_ == 0 ? ": " : ", as some have ended: ") + describe_groups(finding.waiting);
    report_end(std::move(finding));
}

/// The barrier is complete: its threads go on.
void BlockRun::release_waiting() {
    ++meetings_;
    if (began_) [[unlikely]]
        launch_->options.observers.barrier(observed(), barrier_kind_);
    start_phase();
    if (coroutines_.active()) return;
    if (disordered_ || launch_->options.order() == Policy::random) put_in_order(waiting_);
    disordered_ = false;
    ready_.swap(waiting_);
    by_warp_ = true;
}

/// Different sites can still be one source place: LLVM clones calls.
bool BlockRun::same_barrier() const {
    if (!mixed_sites_) return true;
    const std::vector<Waiter> threads = waiters();
    return std::all_of(threads.begin(), threads.end(), [&](const Waiter& thread) {
        return place(thread.site) == place(threads.front().site) && thread.kind == threads.front().kind;
    });
}

/// All threads that have not ended wait: do they go on, wait for other blocks, or for nothing that can come?
BlockRun::Completion BlockRun::complete_barrier() {
    if (!same_barrier()) {
        report_divergence();
        abandon();
        return Completion::over;
    }
    if (barrier_kind_ == jit::BarrierKind::grid && !launch_->cooperative) {
        report_not_cooperative();
        abandon();
        return Completion::over;
    }
    if (barrier_kind_ == jit::BarrierKind::grid && first_thread_is_over()) {
        report_missing_first_thread();
        abandon();
        return Completion::over;
    }
    if (over_ != 0)
        report_early_exit(waiters(), over_, barrier_kind_ == jit::BarrierKind::grid ? "grid " : "");
    context_.barrier_result = barrier_result();
    if (barrier_kind_ == jit::BarrierKind::grid) {
        at_grid_ = true;
        grid_generation_ = launch_->grid.generation();
        return Completion::at_grid;
    }
    release_waiting();
    return Completion::goes_on;
}

}  // namespace cudasim::execution
