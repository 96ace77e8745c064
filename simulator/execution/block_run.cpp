// The scheduler of a block. Order of threads: linear, forward or reverse (E6).
#include "simulator/execution/block_run.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "simulator/execution/fault_report.h"
#include "simulator/execution/worker.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

using findings::Dim3;
using findings::Finding;
using findings::FindingKind;
using findings::Severity;
using findings::WaitingGroup;

namespace {

Dim3 unlinear(std::uint64_t index, const Dim3& extent) {
    return {static_cast<std::uint32_t>(index % extent.x), static_cast<std::uint32_t>(index / extent.x % extent.y),
            static_cast<std::uint32_t>(index / extent.x / extent.y)};
}

void store(std::uint32_t (&target)[3], const Dim3& value) {
    target[0] = value.x;
    target[1] = value.y;
    target[2] = value.z;
}

/// A switch touches a line of the Runner and a few of the saved stack, long since out of the first-level cache:
/// asking for them two switches ahead halves what a barrier costs at 256 threads.
void prefetch(const std::vector<Runner*>& batch, std::size_t next) {
    constexpr std::size_t runner_distance = 3, stack_lines = 7, line_bytes = 64;
    if (next + runner_distance < batch.size()) __builtin_prefetch(batch[next + runner_distance]);
    if (next >= batch.size()) return;
    const auto* stack = static_cast<const char*>(batch[next]->fiber.saved_position());
    for (std::size_t line = 0; line < stack_lines; ++line) __builtin_prefetch(stack + line * line_bytes);
}

}  // namespace

void BlockRun::start(Worker& worker, Launch& launch, std::uint64_t block, std::byte* shared) {
    worker_ = &worker;
    launch_ = &launch;
    block_ = block;
    store(context_.ctaid, unlinear(block, launch.configuration.grid));
    store(context_.ntid, launch.configuration.block);
    store(context_.nctaid, launch.configuration.grid);
    context_.thread_count = static_cast<std::uint32_t>(launch.configuration.block.volume());
    context_.shared_base = shared;
    context_.dynamic_shared_bytes = static_cast<std::uint32_t>(launch.configuration.dynamic_shared_bytes);
    context_.parameters = launch.parameters.data();
    context_.globals_base = reinterpret_cast<std::byte*>(launch.globals_base);
    context_.shadow_base = worker.shadow_base();
    if (launch.shared_bytes != 0) memory::fill_poison(shared, launch.shared_bytes);
    not_started_ = context_.thread_count;
    next_thread_ = launch.options.policy == Policy::reverse ? context_.thread_count - 1 : 0;
    over_ = faulted_ = idle_rounds_ = 0;
}

/// Notes what complete_barrier() needs while the runner's line is in the cache.
[[gnu::always_inline]] inline void BlockRun::arrive(Runner* runner) {
    if (waiting_.empty()) {
        mixed_sites_ = false;
        votes_ = 0;
    } else {
        const Runner* first = waiting_.front();
        mixed_sites_ |= runner->site != first->site || runner->barrier_kind != first->barrier_kind;
    }
    votes_ += runner->barrier_value;
    waiting_.push_back(runner);
}

/// Inlined into the loop of advance(): a return between two switches would be mispredicted.
[[gnu::always_inline]] inline void BlockRun::resume(Runner* runner) {
    runner->slices = 0;
    const std::uint32_t first = runner->thread;
    worker_->switch_to(runner);
    if (runner->event == Event::waiting && runner->thread == first && runner->end == first + 1) [[likely]] {
        arrive(runner);
        return;
    }
    handle(runner, first);
}

BlockRun::State BlockRun::advance() {
    progress_ = false;
    ready_.swap(spinning_);
    for (;;) {
        if (launch_->stopped()) return State::spinning;
        if (!ready_.empty()) {
            std::vector<Runner*>& batch = worker_->scratch();
            batch.swap(ready_);
            for (std::size_t i = 0; i < batch.size(); ++i) {
                prefetch(batch, i + 2);
                if (launch_->stopped()) ready_.push_back(batch[i]);
                else resume(batch[i]);
            }
            batch.clear();
        } else if (not_started_ != 0) {
            start_threads();
        } else if (!waiting_.empty() && spinning_.empty()) {
            progress_ = true;
            if (!complete_barrier()) return State::over;
        } else {
            break;
        }
    }
    if (spinning_.empty()) return State::over;
    idle_rounds_ = progress_ ? 0 : idle_rounds_ + 1;
    return State::spinning;
}

void BlockRun::start_threads() {
    const bool one_by_one = launch_->options.carrier == Carrier::fiber || launch_->options.policy == Policy::reverse;
    Runner* runner = worker_->acquire(*launch_, &context_);
    runner->thread = next_thread_;
    runner->end = one_by_one ? next_thread_ + 1 : context_.thread_count;
    const std::uint32_t count = runner->end - runner->thread;
    not_started_ -= count;
    if (launch_->options.policy == Policy::reverse) --next_thread_;
    else next_thread_ += count;
    resume(runner);
}

/// The runner keeps only the thread it is running; those behind it in its range are not started after all.
void BlockRun::cut(Runner* runner) {
    const std::uint32_t behind = runner->end - runner->thread - 1;
    if (behind == 0) return;
    next_thread_ = runner->thread + 1;
    not_started_ += behind;
    runner->end = runner->thread + 1;
}

/// What the runner came back for; `first` is the thread it ran first since it was resumed.
[[gnu::noinline]] void BlockRun::handle(Runner* runner, std::uint32_t first) {
    switch (runner->event) {
        case Event::finished:
            over_ += runner->end - first;
            progress_ = true;
            worker_->release(runner);
            break;
        case Event::waiting:
            over_ += runner->thread - first;
            cut(runner);
            progress_ = true;
            arrive(runner);
            break;
        case Event::yielded:
            over_ += runner->thread - first;
            cut(runner);
            spinning_.push_back(runner);
            worker_->poll(*launch_);
            break;
        case Event::faulted:
            over_ += runner->thread - first;
            cut(runner);
            progress_ = true;
            ++faulted_;
            launch_->findings.add(describe_fault(*launch_, *this, *runner));
            worker_->discard(runner);
            if (launch_->findings.faults() >= launch_->options.max_faults) launch_->no_new_blocks = true;
            break;
    }
}

/// Different sites can still be one source place: LLVM clones calls.
bool BlockRun::same_barrier() const {
    if (!mixed_sites_) return true;
    const auto place = [this](const Runner* runner) {
        return runner->site < launch_->barrier_place.size() ? launch_->barrier_place[runner->site] : runner->site;
    };
    const Runner* first = waiting_.front();
    return std::all_of(waiting_.begin(), waiting_.end(), [&](const Runner* runner) {
        return place(runner) == place(first) && runner->barrier_kind == first->barrier_kind;
    });
}

/// All threads that have not ended wait. True: they go on. False: they cannot, and the block is over.
bool BlockRun::complete_barrier() {
    if (!same_barrier()) {
        report_divergence();
        abandon();
        return false;
    }
    if (over_ != 0) report_early_exit();
    context_.barrier_result = barrier_result();
    ready_.swap(waiting_);
    return true;
}

std::int32_t BlockRun::barrier_result() const {
    switch (waiting_.front()->barrier_kind) {
        case jit::BarrierKind::plain: return 0;
        case jit::BarrierKind::count: return static_cast<std::int32_t>(votes_);
        case jit::BarrierKind::all: return votes_ == waiting_.size();
        case jit::BarrierKind::any: return votes_ != 0;
    }
    return 0;
}

void BlockRun::abandon() {
    for (auto* list : {&waiting_, &spinning_, &ready_}) {
        for (Runner* runner : *list) worker_->discard(runner);
        list->clear();
    }
    not_started_ = 0;
}

findings::ThreadCoordinate BlockRun::coordinate(std::uint32_t thread) const {
    return {block_, thread, Dim3{context_.ctaid[0], context_.ctaid[1], context_.ctaid[2]},
            unlinear(thread, launch_->configuration.block)};
}

WaitingGroup BlockRun::group(std::string state, std::uint32_t site) const {
    WaitingGroup group;
    group.state = std::move(state);
    group.location = launch_->location(site);
    group.block = block_;
    group.ctaid = Dim3{context_.ctaid[0], context_.ctaid[1], context_.ctaid[2]};
    return group;
}

namespace {

void add_thread(WaitingGroup& group, std::uint32_t thread) {
    if (!group.threads.empty() && group.threads.back().second + 1 == thread) group.threads.back().second = thread;
    else group.threads.emplace_back(thread, thread);
}

}  // namespace

void BlockRun::add_groups(std::vector<WaitingGroup>& groups, const std::vector<Runner*>& runners,
                          const char* state) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_place;
    for (const Runner* runner : runners) {
        const bool known = runner->site < launch_->barrier_place.size();
        by_place[known ? launch_->barrier_place[runner->site] : runner->site].push_back(runner->thread);
    }
    for (auto& [site, threads] : by_place) {
        std::sort(threads.begin(), threads.end());
        groups.push_back(group(state, site));
        for (std::uint32_t thread : threads) add_thread(groups.back(), thread);
    }
}

std::vector<WaitingGroup> BlockRun::places() const {
    std::vector<WaitingGroup> groups;
    add_groups(groups, waiting_, "waiting at barrier");
    add_groups(groups, spinning_, "running");
    add_groups(groups, ready_, "running");
    return groups;
}

void BlockRun::report_divergence() {
    Finding finding;
    finding.kind = FindingKind::barrier_divergence;
    finding.exception_type = findings::info(finding.kind).python_exception;
    finding.kernel = launch_->kernel_name;
    const Runner* lowest = *std::min_element(waiting_.begin(), waiting_.end(),
                                             [](const Runner* a, const Runner* b) { return a->thread < b->thread; });
    finding.thread = coordinate(lowest->thread);
    finding.location = launch_->location(lowest->site);
    finding.waiting = places();
    finding.threads = finding.count = waiting_.size();
    finding.message = "threads of the block wait at different barriers: " + describe_groups(finding.waiting);
    launch_->findings.add(std::move(finding));
}

/// Once per place (C4): for the lowest block, whatever the number of workers.
void BlockRun::report_early_exit() {
    const std::uint32_t site = waiting_.front()->site;
    const std::uint32_t place = site < launch_->barrier_place.size() ? launch_->barrier_place[site] : site;
    if (place < launch_->early_exit_block.size()) {
        std::atomic<std::uint64_t>& known = launch_->early_exit_block[place];
        std::uint64_t lowest = known.load(std::memory_order_relaxed);
        while (block_ < lowest && !known.compare_exchange_weak(lowest, block_)) {}
        if (block_ >= lowest) return;
    }
    Finding finding;
    finding.kind = FindingKind::barrier_early_exit;
    finding.severity = launch_->options.strict ? Severity::error : Severity::warning;
    finding.exception_type = findings::info(finding.kind).python_exception;
    finding.kernel = launch_->kernel_name;
    const Runner* lowest = *std::min_element(waiting_.begin(), waiting_.end(),
                                             [](const Runner* a, const Runner* b) { return a->thread < b->thread; });
    finding.thread = coordinate(lowest->thread);
    finding.location = launch_->location(lowest->site);
    finding.count = 1;
    finding.threads = over_;
    finding.message = std::to_string(over_) + (over_ == 1 ? " thread" : " threads") + " of " +
                      std::to_string(context_.thread_count) + " ended without reaching the barrier at which " +
                      std::to_string(waiting_.size()) + (waiting_.size() == 1 ? " thread waits" : " threads wait");
    launch_->findings.add(std::move(finding));
}

}  // namespace cudasim::execution
