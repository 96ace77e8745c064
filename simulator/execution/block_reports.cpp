// What the scheduler of a block says about its threads: where they are, and what is wrong with that.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>

#include "simulator/execution/block_run.h"
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

void add_waiters(std::vector<Waiter>& result, const std::vector<Runner*>& runners) {
    for (const Runner* runner : runners)
        for (std::uint32_t thread = runner->thread; thread < runner->thread + runner->group; ++thread)
            result.push_back({thread, runner->site, runner->barrier_kind});
}

void sort_by_thread(std::vector<Waiter>& threads) {
    std::sort(threads.begin(), threads.end(),
              [](const Waiter& a, const Waiter& b) { return a.thread < b.thread; });
}

}  // namespace

std::uint32_t BlockRun::place(std::uint32_t site) const {
    return site < launch_->barrier_place.size() ? launch_->barrier_place[site] : site;
}

/// Ascending by thread.
std::vector<Waiter> BlockRun::waiters() const {
    if (coroutines_.active()) return coroutines_.waiters();
    std::vector<Waiter> result;
    add_waiters(result, waiting_);
    sort_by_thread(result);
    return result;
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
    if (!group.threads.empty() && group.threads.back().second + 1 == thread)
        group.threads.back().second = thread;
    else
        group.threads.emplace_back(thread, thread);
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

std::vector<Runner*> BlockRun::able() const {
    std::vector<Runner*> runners = ready_;
    for (const auto& list : {warps_.free(), named_.free()})
        runners.insert(runners.end(), list.begin(), list.end());
    return runners;
}

std::vector<std::uint32_t> BlockRun::turns() const {
    std::vector<std::uint32_t> turns = lanes_to_run_;
    turns.insert(turns.end(),
                 {not_started_, last_warp_, passes_of_warp_, named_turns_, by_warp_, disordered_});
    for (const auto& [first, last] : alone_) turns.insert(turns.end(), {first, last});
    return turns;
}

std::vector<WaitingGroup> BlockRun::places() const {
    std::vector<Waiter> waiting, running;
    add_waiters(waiting, waiting_);
    add_waiters(running, spinning_);
    add_waiters(running, able());
    std::vector<Waiter> in_warps;
    add_waiters(in_warps, warps_.waiting());
    if (coroutines_.active()) {
        std::vector<bool> turn_to_come(context_.thread_count), spins(context_.thread_count);
        for (std::uint32_t turn = context_.thread_count - not_started_; turn < context_.thread_count; ++turn)
            turn_to_come[order_.thread(turn)] = true;
        for (const Waiter& thread : running) spins[thread.thread] = true;
        for (const Waiter& thread : coroutines_.waiters()) {
            if (spins[thread.thread]) continue;
            const bool runs = turn_to_come[thread.thread] || thread.may_go_on;
            (runs ? running : thread.in_warp ? in_warps : waiting).push_back(thread);
        }
    }
    sort_by_thread(waiting);
    sort_by_thread(running);
    std::vector<WaitingGroup> groups;
    const auto at_block = std::stable_partition(waiting.begin(), waiting.end(), [](const Waiter& thread) {
        return thread.kind == jit::BarrierKind::grid;
    });
    add_groups(groups, {at_block, waiting.end()}, "waiting at barrier");
    add_groups(groups, {waiting.begin(), at_block}, "waiting at grid barrier");
    add_named_groups(groups);
    std::vector<Waiter> at_cluster;
    for (const Runner* runner : named_.cluster().waiting())
        at_cluster.push_back({runner->thread, runner->site, runner->named.kind});
    sort_by_thread(at_cluster);
    add_groups(groups, at_cluster, "waiting at cluster barrier");
    add_groups(groups, in_warps, "waiting in a warp operation");
    add_groups(groups, running, "running");
    return groups;
}

namespace {

std::string mask_text(std::uint32_t mask) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "0x%08x", mask);
    return digits;
}

std::string lane_list(std::uint32_t lanes) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    for (std::uint32_t lane = 0; lane < jit::warp_size; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        if (!ranges.empty() && ranges.back().second + 1 == lane)
            ranges.back().second = lane;
        else
            ranges.emplace_back(lane, lane);
    }
    return findings::ranges(ranges);
}

}  // namespace

Finding BlockRun::finding_at(FindingKind kind, std::uint32_t thread, std::uint32_t site) const {
    return execution::finding_at(*launch_, kind, coordinate(thread), launch_->location(site));
}

/// A finding about the block's lowest waiting thread that says where all of them are.
Finding BlockRun::finding_of_waiters(FindingKind kind) const {
    const Waiter lowest = waiters().front();
    Finding finding = finding_at(kind, lowest.thread, lowest.site);
    finding.waiting = places();
    finding.threads = finding.count = waiting_count_;
    return finding;
}

/// Nobody can go on, and lanes wait for others of their warp that are elsewhere.
void BlockRun::report_missing_lanes() {
    const WaitingLane lowest =
        coroutines_.active() ? coroutines_.first_waiting_lane() : warps_.first_waiting();
    Finding finding = finding_at(FindingKind::missing_lane, lowest.thread, lowest.site);
    finding.waiting = places();
    finding.threads = finding.count = lanes_waiting();
    const std::uint32_t missing = lowest.missing;
    finding.message = "a warp operation with mask " + mask_text(lowest.mask) + " waits for lane" +
                      (std::has_single_bit(missing) ? " " : "s ") + lane_list(missing);
    for (std::uint32_t lane = 0; lane < jit::warp_size; ++lane) {
        if ((missing >> lane & 1) == 0) continue;
        const std::uint32_t thread = lowest.thread / jit::warp_size * jit::warp_size + lane;
        const std::uint32_t other =
            coroutines_.active() ? coroutines_.mask_of(thread) : warps_.mask_of(thread);
        if (other == 0 || other == lowest.mask) continue;
        finding.kind = FindingKind::lane_in_two_masks;
        finding.message += ", and lane " + std::to_string(lane) + " waits in one with mask " +
                           mask_text(other) +
                           ": a lane can be in one at a time: " + describe_groups(finding.waiting);
        report_end(std::move(finding));
        return;
    }
    finding.message += std::string(", which never come") + (std::has_single_bit(missing) ? "s: " : ": ") +
                       describe_groups(finding.waiting);
    report_end(std::move(finding));
}

/// Lanes that have not ended have to execute what names them (CUDA C++ Programming Guide, "Warp Shuffle
/// Functions", "Warp Vote Functions"); once per block and place.
void BlockRun::report_skipped_operation() {
    const SkippedOperation skipped = skipped_.take();
    const bool one = std::has_single_bit(skipped.lanes);
    Finding finding = finding_at(FindingKind::divergent_lanes, skipped.thread, skipped.site);
    finding.severity = launch_->options.strict ? Severity::error : Severity::warning;
    finding.count = 1;
    finding.threads = static_cast<std::uint64_t>(std::popcount(skipped.lanes));
    finding.message = "the mask " + mask_text(skipped.mask) + " of this warp operation names lane" +
                      (one ? " " : "s ") + lane_list(skipped.lanes) + ", which " + (one ? "goes" : "go") +
                      " on without executing it: its result is undefined";
    if (launch_->stops) {
        launch_->stops->tell_report(*worker_, *this, finding);
        if (launch_->stops->is_to_go_back()) return;
    }
    launch_->findings.add(std::move(finding));
}

void BlockRun::report_divergence() {
    Finding finding = finding_of_waiters(FindingKind::barrier_divergence);
    finding.message = "threads of the block wait at different barriers: " + describe_groups(finding.waiting);
    report_end(std::move(finding));
}

/// cooperative_groups::grid_group::sync() of a group that is not valid: undefined, and a trap on a GPU.
void BlockRun::report_not_cooperative() {
    Finding finding = finding_of_waiters(FindingKind::not_cooperative);
    finding.message =
        "a barrier of the whole grid in a launch that is not cooperative: "
        "launch the kernel with cudaLaunchCooperativeKernel(), so that all its blocks are on the device at "
        "once";
    report_end(std::move(finding));
}

/// CUDA lets other threads end early; the grid waits for this one.
void BlockRun::report_missing_first_thread() {
    Finding finding = finding_of_waiters(FindingKind::deadlock);
    finding.message =
        "thread 0 of the block, which signals at grid barriers that its block has come, ended without "
        "reaching the one where others wait: " +
        describe_groups(finding.waiting);
    report_end(std::move(finding));
}

namespace {

/// Whether every warp of the block has all of its threads among these, or none.
bool are_whole_warps(std::span<const Waiter> ascending, std::uint32_t threads) {
    constexpr std::uint32_t lanes = 32;
    for (std::size_t i = 0; i < ascending.size();) {
        const std::uint32_t first = ascending[i].thread / lanes * lanes;
        const std::uint32_t of_warp = std::min(lanes, threads - first);
        if (i + of_warp > ascending.size() || ascending[i].thread != first ||
            ascending[i + of_warp - 1].thread != first + of_warp - 1)
            return false;
        i += of_warp;
    }
    return true;
}

}  // namespace

/// A barrier of the block is for its threads that have not ended (CUDA Programming Guide, "Compute Capability
/// 7.x", "Independent Thread Scheduling"). Whole warps that end are common and a note; a warp of which only
/// a part ends more often is a mistake, and a warning.
void BlockRun::report_early_exit(std::span<const Waiter> waiting, std::uint64_t missing,
                                 const char* barrier) {
    report_early_exit(are_whole_warps(waiting, context_.thread_count) ? Severity::note : Severity::warning,
                      waiting.front(), missing, waiting.size(), barrier, context_.thread_count);
}

/// Once per place (C4): for the lowest block, whatever the number of workers. Warnings go before notes.
void BlockRun::report_early_exit(Severity severity, const Waiter& lowest, std::uint64_t missing,
                                 std::uint64_t waiting, const char* barrier, std::uint64_t of) {
    const std::uint32_t here = place(lowest.site);
    if (here < launch_->early_exit_block.size()) {
        constexpr std::uint64_t of_notes = std::uint64_t{1} << 63;
        const std::uint64_t rank = severity == Severity::note ? of_notes | block_ : block_;
        std::atomic<std::uint64_t>& known = launch_->early_exit_block[here];
        std::uint64_t before = known.load(std::memory_order_relaxed);
        while (rank < before && !known.compare_exchange_weak(before, rank)) {
        }
        if (rank >= before) return;
    }
    Finding finding = finding_at(FindingKind::barrier_early_exit, lowest.thread, lowest.site);
    finding.severity = severity == Severity::warning && launch_->options.strict ? Severity::error : severity;
    finding.count = 1;
    finding.threads = missing;
    finding.message = std::to_string(missing) + (missing == 1 ? " thread" : " threads") + " of " +
                      std::to_string(of) + " ended without reaching the " + barrier + "barrier at which " +
                      std::to_string(waiting) + (waiting == 1 ? " thread waits" : " threads wait");
    if (launch_->stops && finding.severity != Severity::note) {
        launch_->stops->tell_report(*worker_, *this, finding);
        if (launch_->stops->is_to_go_back()) return;
    }
    launch_->findings.add(std::move(finding));
}

// What it prints --------------------------------------------------------------------------------------------

/// Whether a thread may read the bytes. Without memory checks the shadow does not know local variables; then
/// all memory of the kernel may be read.
bool BlockRun::readable(const Runner& runner, std::uint64_t address, std::size_t bytes) const {
    const memory::Shadow& shadow = memory::Shadow::instance();
    const bool checked = launch_->options.compile.instrumentations.contains(jit::memory_checks());
    if (checked && shadow.base()) return shadow.allows(address, bytes, false);
    return stack_contains(runner, address, bytes) ||
           contains(coroutines_.frames().data(), coroutines_.frames().size(), address, bytes) ||
           contains(context_.shared_base, launch_->shared_bytes, address, bytes) ||
           (launch_->arena->owns(address) && launch_->arena->owns(address + bytes - 1));
}

std::string BlockRun::text_at(const Runner& runner, std::uint64_t address) const {
    std::string text;
    constexpr std::size_t longest = 4096;
    while (text.size() < longest && readable(runner, address + text.size(), 1)) {
        const char next = *reinterpret_cast<const char*>(address + text.size());
        if (next == 0) break;
        text += next;
    }
    return text;
}

/// Formats what the runner's thread prints. False when it names memory that it may not read, a fault of the
/// thread.
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

}  // namespace cudasim::execution
