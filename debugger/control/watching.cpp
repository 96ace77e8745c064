// Control's part for watches (control.h): what the launch watches, and what of its hits stops the program.
#include <algorithm>

#include "debugger/control/conditions.h"
#include "debugger/control/control.h"

namespace cudasim::debugger {

using execution::StoppedLaunch;
using execution::ThreadRef;
using execution::WatchHit;

namespace {

std::uint8_t kinds_of(WatchAccess access) {
    switch (access) {
        case WatchAccess::read:
            return execution::watch_reads;
        case WatchAccess::read_write:
            return execution::watch_reads | execution::watch_writes;
        case WatchAccess::write:
            break;
    }
    return execution::watch_changes;
}

bool is_set(StoppedLaunch& launch, const Watchpoint& watchpoint) {
    const WatchTarget& target = watchpoint.target;
    const auto id = static_cast<std::uint64_t>(watchpoint.id);
    if (target.is_variable)
        return launch.watch(
            execution::VariableWatch{id, *target.frame, target.variable, target.offset, target.bytes});
    return launch.watch(execution::MemoryWatch{id, kinds_of(watchpoint.request.access), target.space,
                                               target.ranges, target.block, target.frame});
}

}  // namespace

void Control::arm_watches(StoppedLaunch& launch) {
    watch_version_ = session_.watchpoints.version();
    std::vector<Watched> now;
    for (Watchpoint& watchpoint : session_.watchpoints.snapshot()) {
        if (watchpoint.target.launch != 0 && watchpoint.target.launch != number_) continue;
        const auto known = std::ranges::find_if(watched_, [&](const Watched& each) {
            return each.watchpoint.id == watchpoint.id &&
                   each.watchpoint.request.data_id == watchpoint.request.data_id &&
                   each.watchpoint.request.access == watchpoint.request.access &&
                   each.watchpoint.request.all_blocks == watchpoint.request.all_blocks;
        });
        if (known == watched_.end() && !is_set(launch, watchpoint)) {
            session_.watchpoints.remove(watchpoint.id);
            session_.audience.watch_removed(watchpoint, "its memory is not there any more");
            continue;
        }
        Watched watched{std::move(watchpoint), {}, {}, nullptr};
        watched.condition = known != watched_.end() && known->watchpoint.request.condition ==
                                                           watched.watchpoint.request.condition
                                ? known->condition
                                : watch_condition(watched.watchpoint.request.condition);
        watched.threads = watched.watchpoint.request.threads.in(configuration().block);
        watched.blocks = watched.watchpoint.request.blocks.in(configuration().grid);
        now.push_back(std::move(watched));
    }
    for (const Watched& each : watched_)
        if (std::ranges::none_of(
                now, [&](const Watched& kept) { return kept.watchpoint.id == each.watchpoint.id; }))
            launch.unwatch(static_cast<std::uint64_t>(each.watchpoint.id));
    watched_ = std::move(now);
}

/// Null: there is none, or nobody compiles it.
std::shared_ptr<const Condition> Control::watch_condition(const std::string& text) const {
    constexpr std::size_t most_functions = 16;
    const auto& kernel = launch_->launch().kernel;
    ExpressionCompiler* compiler = session_.compiler_for(*launch_);
    if (text.empty() || compiler == nullptr || !kernel) return nullptr;
    std::vector<std::uint32_t> sites;  // whoever comes to the memory
    for (const jit::StopPlace& place : kernel->stops.places) sites.push_back(place.site);
    return session_.conditions.in(kernel, text, sites, *compiler, most_functions);
}

std::string Control::refusal_of_watch(const std::string& condition) const {
    const auto compiled = watch_condition(condition);
    return compiled && !compiled->refusal().empty()
               ? "the condition '" + condition + "' cannot be used: " + compiled->refusal()
               : "";
}

Control::Watched* Control::watched(std::uint64_t id) {
    const auto found = std::ranges::find_if(
        watched_, [&](const Watched& each) { return static_cast<std::uint64_t>(each.watchpoint.id) == id; });
    return found != watched_.end() ? &*found : nullptr;
}

/// On the thread's own stack.
bool Control::wants_hits(const jit::BlockContext& /*block*/, std::uint32_t /*thread*/,
                         std::span<const WatchHit> hits) noexcept {
    for (const WatchHit& hit : hits) {
        if (hit.kind == WatchHit::Kind::frame_left) return true;
        if (backward_ && backward_->kind == BackwardKind::writes) return true;
        const Watched* watched = this->watched(hit.id);
        if (watched != nullptr && contains(watched->threads, hit.thread.thread) &&
            contains(watched->blocks, hit.thread.block))
            return true;
    }
    return false;
}

/// Of the function that has made the access. The last statement before may be one of an inlined function
/// whose result was stored.
std::uint32_t Control::frame_of(const WatchHit& hit) const {
    if (hit.site == ~std::uint32_t{0}) return 0;
    const findings::CallChain place = findings::without_own_code(launch_->launch().location(hit.site));
    const findings::CallChain here = launch_->location(hit.thread);
    for (std::uint32_t frame = 0; !place.empty() && frame < here.size(); ++frame)
        if (here[frame].function == place.front().function) return frame;
    return 0;
}

/// Also where the condition cannot be evaluated, which is noted.
bool Control::condition_holds(const Watched& watched, const WatchHit& hit, StopNotice& notice) {
    const Watchpoint& watchpoint = watched.watchpoint;
    if (watchpoint.request.condition.empty()) return true;
    const std::uint32_t frame = frame_of(hit);
    const ConditionResult result =
        frame == 0 ? result_of(watched.condition.get(), watchpoint.request.condition, hit.thread)
                   : evaluate_condition(session_.evaluator_for(*launch_), *launch_, hit.thread,
                                        watchpoint.request.condition, frame);
    if (result.ok) return result.holds;
    if (!session_.watchpoints.tell_failure(watchpoint.id)) return false;
    notice.notes.push_back("the condition of watchpoint " + std::to_string(watchpoint.id) +
                           " cannot be evaluated: " + result.text);
    return true;
}

/// Whether a hit is to stop the program. Counts it.
bool Control::counts(const Watched& watched, const WatchHit& hit, StopNotice& notice) {
    const Watchpoint& watchpoint = watched.watchpoint;
    if (!condition_holds(watched, hit, notice)) return false;
    const std::uint64_t hits = session_.watchpoints.count_hit(watchpoint.id);
    return hits != 0 && (!watchpoint.request.hits || watchpoint.request.hits->stops(hits));
}

WatchReport Control::report_of(const Watchpoint& watchpoint, const WatchHit& hit) const {
    WatchReport report;
    report.id = watchpoint.id;
    report.expression = watchpoint.target.expression;
    report.access = watchpoint.request.access;
    report.hit = hit;
    report.is_over = hit.kind == WatchHit::Kind::frame_left;
    if (hit.site == ~std::uint32_t{0}) return report;
    const findings::CallChain place = findings::without_own_code(launch_->launch().location(hit.site));
    if (place.empty()) return report;
    report.place = place.front();
    if (hit.kind != WatchHit::Kind::assigned) return report;
    // The last statement before may be one of an inlined function whose result was assigned.
    const findings::CallChain here = launch_->location(hit.thread);
    for (const findings::SourceLocation& each : place)
        if (!here.empty() && each.function == here.front().function) {
            report.place = each;
            break;
        }
    return report;
}

/// any_watch_hit() without consequences, for a launch that goes back: hits are not counted.
bool Control::would_stop_for_watch(StopNotice& notice) {
    for (const WatchHit& hit : launch_->watch_hits()) {
        const Watched* watched = this->watched(hit.id);
        if (watched == nullptr) continue;
        if (hit.kind == WatchHit::Kind::frame_left) {
            // Another frame of the same function: what was found in it is not the watch's.
            if (backward_) backward_->found.erase(watched->watchpoint.id);
            continue;
        }
        if (!contains(watched->threads, hit.thread.thread) || !contains(watched->blocks, hit.thread.block) ||
            !condition_holds(*watched, hit, notice))
            continue;
        WatchReport report = report_of(watched->watchpoint, hit);
        report.texts = watched->watchpoint.target.describe(*launch_, hit);
        notice.hit_breakpoints.push_back(report.id);
        notice.watches.push_back(std::move(report));
        notice.reason = StopReason::watch;
    }
    return !notice.watches.empty();
}

/// Whether the thread has stopped for a watch that stops the program.
bool Control::any_watch_hit(StopNotice& notice) {
    const std::vector<WatchHit> hits = launch_->watch_hits();
    const std::size_t before = notice.watches.size();
    for (const WatchHit& hit : hits) {
        const Watched* watched = this->watched(hit.id);
        if (watched == nullptr) continue;
        const Watchpoint watchpoint = watched->watchpoint;
        WatchReport report = report_of(watchpoint, hit);
        if (!report.is_over) {
            if (!contains(watched->threads, hit.thread.thread) ||
                !contains(watched->blocks, hit.thread.block) || !counts(*watched, hit, notice))
                continue;
            report.texts = watchpoint.target.describe(*launch_, hit);
        }
        if (report.is_over || watchpoint.request.temporary) {
            session_.watchpoints.remove(watchpoint.id);
            if (report.is_over)
                session_.audience.watch_removed(watchpoint, "the function that has it has ended");
        }
        notice.hit_breakpoints.push_back(report.id);
        notice.watches.push_back(std::move(report));
    }
    if (notice.watches.size() == before) return false;
    if (watch_version_ != session_.watchpoints.version()) arm_watches(*launch_);
    notice.reason = StopReason::watch;
    return true;
}

/// What the launch that ends has of its own is watched no longer.
void Control::forget_watches() {
    watched_.clear();
    for (const Watchpoint& each : session_.watchpoints.remove_of_launch(number_))
        session_.audience.watch_removed(each, "the kernel that has it has ended");
}

}  // namespace cudasim::debugger
