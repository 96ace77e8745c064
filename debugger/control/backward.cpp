// Control's part that goes back (backward.h).
#include "debugger/control/backward.h"

#include <algorithm>
#include <utility>

#include "debugger/control/control.h"

namespace cudasim::debugger {

using execution::StoppedLaunch;
using execution::ThreadRef;
using execution::ThreadState;
using Repetition = StoppedLaunch::Repetition;

namespace {

/// The watch of start_writes().
constexpr std::uint64_t writes_watch = ~std::uint64_t{0};
/// So many writes are listed.
constexpr std::size_t most_writes = 100;
/// The thread's previous statement is looked for among so many of all threads first: to be told of one costs
/// ten times as much as to run it.
constexpr std::uint64_t statements_told_first = 100'000;

}  // namespace

std::string Control::start_backward(BackwardKind kind, ThreadRef thread) {
    if (!launch_->keeps_history()) return "this launch cannot go back: " + no_history_;
    const ThreadState state = launch_->state(thread);
    const bool of_thread = is_of_thread(kind);
    if (of_thread && state == ThreadState::absent) return "there is no such thread";
    if (of_thread && state == ThreadState::not_started) return "the thread has not started";
    const std::uint64_t now = launch_->count();
    // The statement that has stored to what is watched, or in which an error has ended the thread, has begun,
    // and is one to go back to.
    const bool is_within = thread == launch_->stopped_thread() &&
                           (state == ThreadState::faulted || launch_->is_inside_statement());
    const bool stands = state == ThreadState::stopped && !is_within;
    backward_ = Backward{
        .kind = kind,
        .thread = thread,
        .now = now,
        .end = is_within ? now + 1 : now,
        .steps = BackwardSteps(kind, std::max<std::size_t>(launch_->depth(thread), 1), stands),
        .notice = notice_of(kind == BackwardKind::go_on ? StopReason::breakpoint : StopReason::step)};
    focus_ = thread;
    goes_on_ = true;
    return {};
}

std::string Control::start_writes(const std::string& data_id) {
    std::optional<WatchTarget> target = session_.watchpoints.target(data_id);
    if (!target) return "'" + data_id + "' names nothing that is there: its kernel is over";
    if (target->is_variable || target->frame)
        return target->expression + " belongs to one thread: watch it, and step back";
    if (std::string error = start_backward(BackwardKind::writes, focus_); !error.empty()) return error;
    if (!launch_->watch(execution::MemoryWatch{
            writes_watch, execution::watch_writes, target->space, target->ranges, target->block, {}})) {
        backward_.reset();
        goes_on_ = false;
        return target->expression + " is not there any more";
    }
    backward_->target = std::move(target);
    backward_->notice = notice_;
    return {};
}

void Control::note_writes() {
    for (const execution::WatchHit& hit : launch_->watch_hits()) {
        if (hit.id != writes_watch) continue;
        Watchpoint watchpoint;
        watchpoint.target = *backward_->target;
        WatchReport report = report_of(watchpoint, hit);
        report.texts = backward_->target->describe(*launch_, hit);
        ++backward_->writes_in_all;
        backward_->writes.push_front(std::move(report));
        if (backward_->writes.size() > most_writes) backward_->writes.pop_back();
    }
}

/// The launch is where it was.
void Control::end_writes() {
    launch_->unwatch(writes_watch);
    StopNotice notice = std::move(backward_->notice);
    notice.writes.assign(std::make_move_iterator(backward_->writes.begin()),
                         std::make_move_iterator(backward_->writes.end()));
    notice.writes_in_all = backward_->writes_in_all;
    if (launch_->differs()) notice.notes.emplace_back("the launch ran differently this time");
    focus_ = backward_->thread;
    cannot_move_ = backward_->could_not_move;
    backward_.reset();
    serve(std::move(notice));
    cannot_move_ = false;
}

/// The launch goes back as soon as the handler returns.
void Control::go_back() {
    pending_.reset();
    passed_.clear();
    if (backward_->kind == BackwardKind::writes) {
        launch_->follow({});
        backward_->could_not_move = cannot_move_;
        backward_->begin = launch_->run_again_to_here(0, Repetition::observed);
        return;
    }
    told_errors_.clear();
    std::ranges::fill(told_warnings_, std::uint8_t{0});
    if (is_of_thread(backward_->kind)) {
        if (backward_->now > statements_told_first)
            backward_->followed_from = backward_->now - statements_told_first;
        launch_->follow(backward_->thread, backward_->followed_from);
    } else {
        launch_->follow({});
        if (is_behind_watched_access()) return run_up_to(backward_->now);
    }
    backward_->begin = launch_->run_again(backward_->now, backward_->now, Repetition::observed);
}

/// A watch has stopped the thread within its statement: the last change is the one that it stands behind.
bool Control::is_behind_watched_access() {
    StopNotice notice;
    if (!launch_->is_inside_statement() || !would_stop_for_watch(notice)) return false;
    backward_->notice = std::move(notice);
    return true;
}

void Control::passes(std::uint64_t count, std::uint32_t /*site*/, std::size_t depth) noexcept {
    if (backward_) backward_->steps.pass(count, depth);
}

/// The last pass is to stop there.
void Control::run_up_to(std::uint64_t count) {
    backward_->is_last_pass = true;
    launch_->follow({});
    (void)launch_->run_again(count, count, Repetition::silent);
}

void Control::note_found(bool by_breakpoint, StopNotice notice) {
    std::int64_t by = 0;
    if (!by_breakpoint && notice.watches.size() == 1) {
        const Watched* watched = this->watched(notice.watches.front().hit.id);
        if (watched != nullptr && watched->watchpoint.target.frame) by = watched->watchpoint.id;
    }
    backward_->found[by] = {launch_->count(), std::move(notice)};
}

/// What is told there is `notice` from now on.
std::optional<std::uint64_t> Control::last_found() {
    auto& found = backward_->found;
    const auto last = std::ranges::max_element(found, {}, [](const auto& each) { return each.second.first; });
    if (last == found.end()) return std::nullopt;
    backward_->notice = std::move(last->second.second);
    return last->second.first;
}

/// The launch runs again and has stopped, for a breakpoint or because it is where the pass ends.
void Control::stopped_backward(StoppedLaunch& launch) {
    look(launch);
    Backward& backward = *backward_;
    const bool is_over = !launch.repeats();
    if (backward.kind == BackwardKind::writes) {
        if (!is_over) return note_writes();
        return end_writes();
    }
    if (backward.is_last_pass) {
        if (!is_over) return;
        StopNotice notice = std::move(backward.notice);
        if (launch.differs()) notice.notes.emplace_back("the launch ran differently this time");
        focus_ = backward.kind == BackwardKind::go_on ? launch.stopped_thread() : backward.thread;
        backward_.reset();
        (void)session_.take_pause();
        return serve(std::move(notice));
    }
    if (backward.kind == BackwardKind::go_on && launch.count() < backward.end) {
        StopNotice notice;
        const bool is_inside = launch.is_inside_statement();
        const bool is_hit = !is_inside && would_stop(launch.stopped_thread(), notice);
        if (would_stop_for_watch(notice) || is_hit) note_found(is_hit, std::move(notice));
    }
    if (!is_over) return;
    if (!session_.client_is_there) return backward_.reset();
    const auto found = backward.kind == BackwardKind::go_on ? last_found() : backward.steps.end();
    if (found) return run_up_to(*found);
    if (std::exchange(backward.followed_from, 0) > backward.begin) {
        backward.steps.begin_again();
        launch.follow(backward.thread);
        backward.begin = launch.run_again(backward.now, backward.now, Repetition::observed);
        return;
    }
    if (backward.begin > 0 && !session_.take_pause()) {
        backward.begin = launch.run_again(backward.begin, backward.begin, Repetition::observed);
        return;
    }
    const bool of_thread = is_of_thread(backward.kind);
    backward.notice.reason = StopReason::step;
    backward.notice.notes.emplace_back(of_thread ? "the thread was at no such statement before"
                                                 : "the launch begins here");
    run_up_to(of_thread ? backward.now : 1);
}

/// any_hit() without consequences: hits are not counted, and messages not written.
bool Control::would_stop(ThreadRef thread, StopNotice& notice) {
    const auto site = launch_->site(thread);
    if (!site || *site >= armed_at_.size()) return false;
    for (const std::uint32_t index : armed_at_[*site]) {
        Armed& armed = armed_[index];
        if (!armed.breakpoint.request.log_message.empty() || !matches(armed, thread)) continue;
        if (!condition_holds(armed, thread, notice)) continue;
        notice.hit_breakpoints.push_back(armed.breakpoint.id);
        notice.reason = StopReason::breakpoint;
    }
    return !notice.hit_breakpoints.empty();
}

}  // namespace cudasim::debugger
