// The scheduler of a block. Order of threads: linear, forward or reverse (E6).
#include "simulator/execution/block_run.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>

#include "simulator/execution/device_printf.h"
#include "simulator/execution/fault_report.h"
#include "simulator/execution/worker.h"
#include "simulator/memory/arena.h"
#include "simulator/memory/shadow.h"

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

void add_waiters(std::vector<Waiter>& result, const std::vector<Runner*>& runners) {
    for (const Runner* runner : runners) result.push_back({runner->thread, runner->site, runner->barrier_kind});
}

void sort_by_thread(std::vector<Waiter>& threads) {
    std::sort(threads.begin(), threads.end(), [](const Waiter& a, const Waiter& b) { return a.thread < b.thread; });
}

}  // namespace

void BlockRun::start(Worker& worker, Launch& launch, std::uint64_t block, std::uint64_t turn, std::byte* shared) {
    worker_ = &worker;
    launch_ = &launch;
    block_ = block;
    turn_ = turn;
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
    coroutines_.start(launch.kernel.get(), context_.thread_count, context_);
    warps_.start(context_.thread_count, !coroutines_.active() && (!launch.kernel || launch.kernel->waits));
    random_ = RandomNumbers(RandomNumbers(launch.options.seed).next() ^ block);
    start_phase();
    over_ = faulted_ = idle_rounds_ = 0;
}

/// Notes what complete_barrier() needs while the runner's line is in the cache.
[[gnu::always_inline]] inline void BlockRun::arrive(Runner* runner) {
    if (waiting_.empty()) {
        mixed_sites_ = false;
        votes_ = 0;
        barrier_kind_ = runner->barrier_kind;
    } else {
        const Runner* first = waiting_.front();
        mixed_sites_ |= runner->site != first->site || runner->barrier_kind != first->barrier_kind;
    }
    votes_ += runner->barrier_value;
    waiting_.push_back(runner);
}

[[gnu::always_inline]] inline void BlockRun::arrive_in_warp(Runner* runner) {
    if ((runner->warp.mask >> runner->thread % jit::warp_size & 1) != 0) [[likely]] warps_.arrive(runner, ready_);
    else refuse_mask(runner);
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
    if (runner->event == Event::in_warp && runner->thread == first && runner->end == first + 1) {
        progress_ = true;
        arrive_in_warp(runner);
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
            // While nothing but spinning happens the order stays, so that a livelock is seen to repeat itself.
            if (launch_->options.policy == Policy::random && idle_rounds_ == 0) random_.shuffle(batch);
            for (std::size_t i = 0; i < batch.size(); ++i) {
                prefetch(batch, i + 2);
                if (launch_->stopped()) ready_.push_back(batch[i]);
                else resume(batch[i]);
            }
            batch.clear();
        } else if (not_started_ != 0) {
            start_threads();
        } else if (warps_.answer_active(ready_)) {
            progress_ = true;
        } else if (spinning_.empty() && warps_.waiting_count() != 0) {
            report_missing_lanes();
            abandon();
            return State::over;
        } else if (spinning_.empty() && all_wait()) {
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

/// Every thread gets its turn, in an order of its own under the random policy.
void BlockRun::start_phase() {
    not_started_ = context_.thread_count;
    if (launch_->options.policy == Policy::random) order_ = RandomOrder(random_.next(), context_.thread_count);
}

void BlockRun::start_threads() {
    const bool one_by_one =
        launch_->options.carrier == Carrier::fiber || launch_->options.policy != Policy::forward;
    Runner* runner = worker_->acquire(*launch_, &context_);
    runner->thread = thread_of_turn(context_.thread_count - not_started_);
    runner->end = one_by_one ? runner->thread + 1 : context_.thread_count;
    not_started_ -= runner->end - runner->thread;
    resume(runner);
}

std::uint32_t BlockRun::thread_of_turn(std::uint32_t turn) const {
    switch (launch_->options.policy) {
        case Policy::forward: break;
        case Policy::reverse: return context_.thread_count - 1 - turn;
        case Policy::random: return static_cast<std::uint32_t>(order_(turn));
    }
    return turn;
}

/// The runner keeps only the thread it is running; those behind it in its range are not started after all.
void BlockRun::cut(Runner* runner) {
    not_started_ += runner->end - runner->thread - 1;
    runner->end = runner->thread + 1;
}

/// What the runner came back for; `first` is the thread it ran first since it was resumed.
[[gnu::noinline]] void BlockRun::handle(Runner* runner, std::uint32_t first) {
    while (runner->event == Event::printing) {
        progress_ = true;
        if (!print(*runner)) break;
        if (launch_->stopped()) break;
        worker_->switch_to(runner);
    }
    switch (runner->event) {
        case Event::printing:  // the launch stops while its thread prints
            ended(first, runner->thread);
            cut(runner);
            ready_.push_back(runner);
            break;
        case Event::finished:
            ended(first, runner->end);
            progress_ = true;
            worker_->release(runner);
            break;
        case Event::waiting:
            ended(first, runner->thread);
            cut(runner);
            progress_ = true;
            arrive(runner);
            break;
        case Event::in_warp:
            ended(first, runner->thread);
            cut(runner);
            progress_ = true;
            arrive_in_warp(runner);
            break;
        case Event::yielded:
            ended(first, runner->thread);
            cut(runner);
            spinning_.push_back(runner);
            worker_->poll(*launch_);
            break;
        case Event::faulted:
            ended(first, runner->thread);
            cut(runner);
            progress_ = true;
            ++faulted_;
            if (warps_.tracks()) warps_.end(runner->thread, runner->thread + 1, ready_);
            if (coroutines_.active()) coroutines_.set_over(runner->thread);
            launch_->findings.add(describe_fault(*launch_, *this, *runner));
            worker_->discard(runner);
            if (launch_->findings.faults() >= launch_->options.max_faults) launch_->no_new_blocks = true;
            break;
    }
}

/// Threads [first, last) ended by themselves.
void BlockRun::ended(std::uint32_t first, std::uint32_t last) {
    over_ += last - first;
    if (warps_.tracks()) warps_.end(first, last, ready_);
}

/// A lane that its own mask does not name has no meaning (PTX ISA: undefined behaviour).
void BlockRun::refuse_mask(Runner* runner) {
    runner->fault = {};
    runner->fault.kind = FindingKind::missing_lane;
    runner->event = Event::faulted;
    handle(runner, runner->thread);
}

/// Every thread has had its turn and none spins: do any wait?
bool BlockRun::all_wait() {
    if (!coroutines_.active()) {
        waiting_count_ = static_cast<std::uint32_t>(waiting_.size());
        return waiting_count_ != 0;
    }
    const CoroutineThreads::Phase phase = coroutines_.phase();
    over_ = phase.over - faulted_;
    waiting_count_ = phase.waiting;
    mixed_sites_ = phase.mixed;
    votes_ = phase.votes;
    barrier_kind_ = phase.kind;
    return waiting_count_ != 0;
}

std::uint32_t BlockRun::place(std::uint32_t site) const {
    return site < launch_->barrier_place.size() ? launch_->barrier_place[site] : site;
}

/// Without memory checks the shadow does not know the local variables: then anything goes that is the kernel's.
bool BlockRun::readable(const Runner& runner, std::uint64_t address, std::size_t bytes) const {
    const memory::Shadow& shadow = memory::Shadow::instance();
    if (launch_->options.compile.memory_checks && shadow.base()) return shadow.allows(address, bytes, false);
    auto within = [&](const std::byte* low, std::uint64_t size) {
        const auto first = reinterpret_cast<std::uint64_t>(low);
        return size >= bytes && address >= first && address - first <= size - bytes;
    };
    return within(runner.stack.low, static_cast<std::uint64_t>(runner.stack.top - runner.stack.low)) ||
           within(coroutines_.frames().data(), coroutines_.frames().size()) ||
           within(context_.shared_base, launch_->shared_bytes) ||
           (launch_->arena->owns(address) && launch_->arena->owns(address + bytes - 1));
}

/// Formats what the runner's thread prints. False when it names memory that it may not read, a fault of the thread.
bool BlockRun::print(Runner& runner) {
    const Printed printed =
        device_printf(runner.print.format, runner.print.arguments,
                      [&](std::uint64_t address, void* target, std::size_t bytes) {
                          if (!readable(runner, address, bytes)) return false;
                          std::memcpy(target, reinterpret_cast<const void*>(address), bytes);
                          return true;
                      });
    worker_->print(*launch_, turn_, printed.text);
    runner.print.result = printed.result;
    if (printed.bad_bytes == 0) return true;
    runner.fault = {};
    runner.fault.source = Fault::Source::access;
    runner.fault.address = printed.bad_address;
    runner.fault.bytes = printed.bad_bytes;
    runner.event = Event::faulted;
    return false;
}

/// Different sites can still be one source place: LLVM clones calls.
bool BlockRun::same_barrier() const {
    if (!mixed_sites_) return true;
    const std::vector<Waiter> threads = waiters();
    return std::all_of(threads.begin(), threads.end(), [&](const Waiter& thread) {
        return place(thread.site) == place(threads.front().site) && thread.kind == threads.front().kind;
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
    if (coroutines_.active()) start_phase();
    else ready_.swap(waiting_);
    return true;
}

std::int32_t BlockRun::barrier_result() const {
    switch (barrier_kind_) {
        case jit::BarrierKind::plain: return 0;
        case jit::BarrierKind::count: return static_cast<std::int32_t>(votes_);
        case jit::BarrierKind::all: return votes_ == waiting_count_;
        case jit::BarrierKind::any: return votes_ != 0;
    }
    return 0;
}

/// Ascending by thread.
std::vector<Waiter> BlockRun::waiters() const {
    if (coroutines_.active()) return coroutines_.waiters();
    std::vector<Waiter> result;
    add_waiters(result, waiting_);
    sort_by_thread(result);
    return result;
}

void BlockRun::abandon() {
    for (auto* list : {&waiting_, &spinning_, &ready_}) {
        for (Runner* runner : *list) worker_->end(runner);
        list->clear();
    }
    for (Runner* runner : warps_.take_waiting()) worker_->end(runner);
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

void BlockRun::add_groups(std::vector<WaitingGroup>& groups, const std::vector<Waiter>& threads,
                          const char* state) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_place;
    for (const Waiter& thread : threads) by_place[place(thread.site)].push_back(thread.thread);
    for (auto& [site, members] : by_place) {
        groups.push_back(group(state, site));
        for (std::uint32_t thread : members) add_thread(groups.back(), thread);
    }
}

std::vector<WaitingGroup> BlockRun::places() const {
    std::vector<Waiter> waiting, running;
    add_waiters(waiting, waiting_);
    add_waiters(running, spinning_);
    add_waiters(running, ready_);
    if (coroutines_.active()) {
        std::vector<bool> turn_to_come(context_.thread_count), spins(context_.thread_count);
        for (std::uint32_t turn = context_.thread_count - not_started_; turn < context_.thread_count; ++turn)
            turn_to_come[thread_of_turn(turn)] = true;
        for (const Waiter& thread : running) spins[thread.thread] = true;
        for (const Waiter& thread : coroutines_.waiters())
            if (!spins[thread.thread]) (turn_to_come[thread.thread] ? running : waiting).push_back(thread);
    }
    sort_by_thread(waiting);
    sort_by_thread(running);
    std::vector<WaitingGroup> groups;
    add_groups(groups, waiting, "waiting at barrier");
    std::vector<Waiter> in_warps;
    add_waiters(in_warps, warps_.waiting());
    add_groups(groups, in_warps, "waiting in a warp operation");
    add_groups(groups, running, "running");
    return groups;
}

namespace {

std::string lane_list(std::uint32_t lanes) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    for (std::uint32_t lane = 0; lane < jit::warp_size; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        if (!ranges.empty() && ranges.back().second + 1 == lane) ranges.back().second = lane;
        else ranges.emplace_back(lane, lane);
    }
    return findings::ranges(ranges);
}

}  // namespace

/// Nobody can go on, and lanes wait for others of their warp that are elsewhere.
void BlockRun::report_missing_lanes() {
    const std::vector<Runner*> waiting = warps_.waiting();
    const Runner& lowest = *waiting.front();
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", lowest.warp.mask);
    Finding finding;
    finding.kind = FindingKind::missing_lane;
    finding.exception_type = findings::info(finding.kind).python_exception;
    finding.kernel = launch_->kernel_name;
    finding.thread = coordinate(lowest.thread);
    finding.location = launch_->location(lowest.site);
    finding.waiting = places();
    finding.threads = finding.count = waiting.size();
    const std::uint32_t missing = warps_.missing_lanes(lowest);
    finding.message = std::string("a warp operation with mask ") + mask + " waits for lane" +
                      (std::has_single_bit(missing) ? " " : "s ") + lane_list(missing) + ", which never come" +
                      (std::has_single_bit(missing) ? "s: " : ": ") + describe_groups(finding.waiting);
    launch_->findings.add(std::move(finding));
}

void BlockRun::report_divergence() {
    Finding finding;
    finding.kind = FindingKind::barrier_divergence;
    finding.exception_type = findings::info(finding.kind).python_exception;
    finding.kernel = launch_->kernel_name;
    const Waiter lowest = waiters().front();
    finding.thread = coordinate(lowest.thread);
    finding.location = launch_->location(lowest.site);
    finding.waiting = places();
    finding.threads = finding.count = waiting_count_;
    finding.message = "threads of the block wait at different barriers: " + describe_groups(finding.waiting);
    launch_->findings.add(std::move(finding));
}

/// Once per place (C4): for the lowest block, whatever the number of workers.
void BlockRun::report_early_exit() {
    const Waiter lowest = waiters().front();
    const std::uint32_t here = place(lowest.site);
    if (here < launch_->early_exit_block.size()) {
        std::atomic<std::uint64_t>& known = launch_->early_exit_block[here];
        std::uint64_t lowest = known.load(std::memory_order_relaxed);
        while (block_ < lowest && !known.compare_exchange_weak(lowest, block_)) {}
        if (block_ >= lowest) return;
    }
    Finding finding;
    finding.kind = FindingKind::barrier_early_exit;
    finding.severity = launch_->options.strict ? Severity::error : Severity::warning;
    finding.exception_type = findings::info(finding.kind).python_exception;
    finding.kernel = launch_->kernel_name;
    finding.thread = coordinate(lowest.thread);
    finding.location = launch_->location(lowest.site);
    finding.count = 1;
    finding.threads = over_;
    finding.message = std::to_string(over_) + (over_ == 1 ? " thread" : " threads") + " of " +
                      std::to_string(context_.thread_count) + " ended without reaching the barrier at which " +
                      std::to_string(waiting_count_) + (waiting_count_ == 1 ? " thread waits" : " threads wait");
    launch_->findings.add(std::move(finding));
}

}  // namespace cudasim::execution
