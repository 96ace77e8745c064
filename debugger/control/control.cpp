// See control.h: stops, and serving the client.
#include "debugger/control/control.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "simulator/findings/writers.h"

namespace cudasim::debugger {

using execution::StoppedLaunch;
using execution::ThreadRef;
using execution::ThreadState;

namespace {

/// How often a launch that is stopped serves the host (StoppedLaunch::poll()).
constexpr std::chrono::milliseconds poll_interval{50};

}  // namespace

std::string Control::place_text(const findings::Finding& finding) {
    if (finding.location.empty()) return {};
    return finding.location.front().file + ":" + std::to_string(finding.location.front().line);
}

// Begin and end --------------------------------------------------------------------------------------------

void Control::launch_begins(StoppedLaunch& launch) {
    launch_ = &launch;
    number_ = session_.next_launch_number();
    const bool is_usual = launch.runs_usual_code();
    if (!is_usual) code_ = session_.code_of(launch.launch().kernel);
    no_history_ = launch.keep_history(session_.history_bytes);
    core_source_ = CoreSource::of_this_thread();
    session_.enter(*this);
    if (!is_usual) {
        const std::vector<Breakpoint> found = session_.breakpoints.resolve(code_);
        found_.insert(found_.end(), found.begin(), found.end());
    }
    session_.audience.launch_begins(*this);
    for (const Breakpoint& breakpoint : std::exchange(found_, {}))
        session_.audience.breakpoint_changed(breakpoint);
    if (is_usual) return look_soon();  // something may have changed since needs_stops()
    arm(launch);
    at_entry_ = session_.stop_at_entry.exchange(false);
    if (at_entry_ || session_.pause_is_wanted()) look_soon();
}

void Control::launch_ends() {
    if (launch_ == nullptr) return;
    session_.leave(*this);
    tell_of_lost_failure();
    forget_watches();
    session_.audience.launch_ends(*this);
    launch_ = nullptr;
}

// Where it stops -------------------------------------------------------------------------------------------

void Control::look_soon() {
    look_.store(true);
    const bool is_wanted = session_.pause_is_wanted() || session_.stop_at_entry;
    if (launch_->runs_usual_code() && !is_wanted && !may_stop()) return;
    launch_->stop_soon();
}

void Control::look(StoppedLaunch& launch) {
    launch.stop_everywhere(
        false);  // before look_ is read: who changes something now stops the next statement
    if (look_.exchange(false)) arm(launch);
}

/// Where it lies in the kernel; empty: nowhere, or nothing stops there.
std::vector<const KernelCode::Line*> Control::places_of(const Breakpoint& breakpoint) const {
    const BreakpointRequest& request = breakpoint.request;
    if (breakpoint.refused) return {};
    if (request.is_call) {
        if (breakpoint.is_silent || !session_.calls_stop || !session_.client_is_there) return {};
        for (const KernelCode::Line& each : code_->calls())
            if (each.line == breakpoint.line && each.file == breakpoint.file) return {&each};
        return {};
    }
    if (!request.function.empty()) return code_->entries(request.function);
    if (const KernelCode::Line* line = code_->line(request.file, request.line)) return {line};
    return {};
}

void Control::arm(StoppedLaunch& launch) {
    armed_.clear();
    armed_at_.clear();
    if (launch.launch().kernel) told_warnings_.resize(launch.launch().kernel->sites.size());
    std::set<std::pair<std::string, std::uint32_t>> lines;
    for (Breakpoint& breakpoint : session_.breakpoints.snapshot()) {
        const std::vector<const KernelCode::Line*> places = places_of(breakpoint);
        if (places.empty()) continue;
        const auto index = static_cast<std::uint32_t>(armed_.size());
        Armed armed;
        armed.breakpoint = std::move(breakpoint);
        armed.threads = armed.breakpoint.request.threads.in(configuration().block);
        armed.blocks = armed.breakpoint.request.blocks.in(configuration().grid);
        armed.all_threads = armed.breakpoint.request.threads == IndexSet();
        armed.all_blocks = armed.breakpoint.request.blocks == IndexSet();
        if (!compile_condition(armed, places)) continue;
        for (const KernelCode::Line* line : places) {
            lines.emplace(line->file, line->line);
            for (const std::uint32_t site : line->sites) {
                if (site >= armed_at_.size()) armed_at_.resize(site + 1);
                armed_at_[site].push_back(index);
            }
        }
        armed_.push_back(std::move(armed));
    }
    find_only_conditions();
    for (const auto& [file, line] : armed_lines_)
        if (!lines.contains({file, line})) launch.stop_at(file, line, false);
    for (const auto& [file, line] : lines)
        if (!armed_lines_.contains({file, line})) launch.stop_at(file, line);
    armed_lines_ = std::move(lines);
    if (watch_version_ != session_.watchpoints.version()) arm_watches(launch);
}

void Control::find_only_conditions() {
    only_conditions_.assign(armed_at_.size(), {});
    for (std::size_t site = 0; site < armed_at_.size(); ++site) {
        if (armed_at_[site].size() != 1) continue;
        const Armed& armed = armed_[armed_at_[site].front()];
        if (armed.condition && armed.all_threads && armed.all_blocks)
            only_conditions_[site] =
                armed.condition->at_site(launch_->launch().kernel->stops, static_cast<std::uint32_t>(site));
    }
}

/// On the thread's own stack.
bool Control::wants(const jit::BlockContext& block, std::uint32_t thread, std::uint32_t site) noexcept {
    if (site >= only_conditions_.size()) return false;
    if (const Condition::Place& only = only_conditions_[site]; only.predicate != nullptr) {
        const jit::FrameRecord* record = block.thread_stops[thread].innermost;
        // Once: a pause has ended an evaluation that does not end.
        if (record != nullptr && only.decides(*record))
            return only.predicate->test(*record, block, thread) != Truth::no;
    }
    return may_want(block, thread, site);
}

bool Control::may_want(const jit::BlockContext& block, std::uint32_t thread,
                       std::uint32_t site) const noexcept {
    for (const std::uint32_t each : armed_at_[site]) {
        const Armed& armed = armed_[each];
        if (!armed.all_threads && !contains(armed.threads, thread)) continue;
        if (!armed.all_blocks && !contains(armed.blocks, jit::linear_index(block))) continue;
        if (!armed.condition || armed.may_hold(block, thread)) return true;
    }
    return false;
}

bool Control::matches(const Armed& armed, ThreadRef thread) const {
    return contains(armed.threads, thread.thread) && contains(armed.blocks, thread.block);
}

/// Also where the condition cannot be evaluated, which is noted.
bool Control::condition_holds(Armed& armed, ThreadRef thread, StopNotice& notice) {
    Breakpoint& breakpoint = armed.breakpoint;
    if (breakpoint.request.condition.empty()) return true;
    const ConditionResult result = result_of(armed.condition.get(), breakpoint.request.condition, thread);
    if (result.ok) return result.holds;
    breakpoint.failure_told = true;
    if (!session_.breakpoints.tell_failure(breakpoint.id)) return false;
    notice.notes.push_back("the condition of breakpoint " + std::to_string(breakpoint.id) +
                           " cannot be evaluated: " + result.text);
    return true;
}

/// Whether a thread that has come to the breakpoint is to stop.
bool Control::hit(Armed& armed, ThreadRef thread, StopNotice& notice) {
    Breakpoint& breakpoint = armed.breakpoint;
    const BreakpointRequest& request = breakpoint.request;
    if (!condition_holds(armed, thread, notice)) return false;
    const std::uint64_t hits = session_.breakpoints.count_hit(breakpoint.id);
    if (hits == 0 || (request.hits && !request.hits->stops(hits))) return false;
    if (!request.log_message.empty()) {
        session_.audience.output(log_line(request.log_message, thread));
        return false;
    }
    return true;
}

bool Control::any_hit(ThreadRef thread, StopNotice& notice) {
    const auto site = launch_->site(thread);
    if (!site || *site >= armed_at_.size()) return false;
    bool removed = false;
    bool kernel_entry = false, only_functions = true;
    for (const std::uint32_t index : armed_at_[*site]) {
        Armed& armed = armed_[index];
        if (!matches(armed, thread) || !hit(armed, thread, notice)) continue;
        const BreakpointRequest& request = armed.breakpoint.request;
        notice.hit_breakpoints.push_back(armed.breakpoint.id);
        only_functions &= !request.function.empty();
        kernel_entry |= request.function == "*";
        if (request.temporary) {
            session_.breakpoints.remove(armed.breakpoint.id);
            removed = true;
        }
    }
    const bool any = !notice.hit_breakpoints.empty();
    notice.reason = !only_functions ? StopReason::breakpoint
                    : kernel_entry  ? StopReason::entry
                                    : StopReason::function_breakpoint;
    if (removed) arm(*launch_);
    return any;
}

/// {expression} is replaced by its value; what cannot be evaluated says so in its place.
std::string Control::log_line(const std::string& message, ThreadRef thread) {
    Evaluator* evaluator = session_.evaluator_for(*launch_);
    std::string line;
    for (std::size_t at = 0; at < message.size();) {
        const std::size_t open = message.find('{', at), close = message.find('}', open);
        line += message.substr(at, open - at);
        if (open == std::string::npos) break;
        if (close == std::string::npos || evaluator == nullptr) {
            line += message.substr(open);
            break;
        }
        const Evaluation value =
            evaluator->evaluate(*launch_, thread, 0, message.substr(open + 1, close - open - 1));
        line += value.ok ? value.text : "<" + value.text + ">";
        at = close + 1;
    }
    return line + "\n";
}

void Control::stopped(StoppedLaunch& launch) {
    if (backward_) return stopped_backward(launch);
    look(launch);
    const ThreadRef thread = launch.stopped_thread();
    StopNotice notice;
    const bool is_inside = launch.is_inside_statement();
    const bool is_hit = !is_inside && any_hit(thread, notice);
    const bool is_watched = any_watch_hit(notice) || is_warned(notice);
    const bool is_paused = session_.take_pause(), is_entry = !is_inside && std::exchange(at_entry_, false);
    if (is_watched || (is_inside && is_paused)) {
        if (!is_watched) notice.reason = StopReason::pause;
        stop_for_all(thread, std::move(notice));
        return;
    }
    if (is_inside) return;
    if (!pending_) {
        if (!is_hit && !is_paused && !is_entry) return;
        if (!is_hit) notice.reason = is_paused ? StopReason::pause : StopReason::entry;
        focus_ = thread;
        serve(std::move(notice));
        return;
    }
    const bool is_moving = thread == pending_->thread;
    if (is_moving) launch.stop_thread(thread, false);
    if (is_hit && !is_moving) remember_passing(notice);
    if (is_paused) {
        if (!is_hit || !is_moving) notice = notice_of(StopReason::pause);
        serve(std::move(notice));
    } else if (is_moving && is_hit) {
        serve(std::move(notice));
    } else if (is_moving && pending_->kind != MovementKind::barrier && is_done(*pending_)) {
        serve(notice_of(StopReason::step));
    } else if (is_moving) {
        Movement movement = *std::exchange(pending_, std::nullopt);
        notice = {};
        const Outcome outcome = advance(movement, notice);
        if (outcome == Outcome::waits) come_back_later(movement);
        if (outcome == Outcome::stopped) serve(std::move(notice));
    }
}

/// Whatever moves, the thread that has stopped is the focus now.
void Control::stop_for_all(ThreadRef thread, StopNotice notice) {
    if (pending_) (void)launch_->stop_thread(pending_->thread, false);
    pending_.reset();
    focus_ = thread;
    serve(std::move(notice));
}

std::string Control::error_text(const findings::Finding& finding) {
    const std::string exception = finding.exception_type.empty()
                                      ? std::string(findings::info(finding.kind).python_exception)
                                      : finding.exception_type;
    return (exception.empty() ? "" : exception + ": ") + finding.message;
}

void Control::note_error(const findings::Finding& finding, StopNotice& notice) {
    notice.reason = StopReason::exception;
    notice.error_kind = findings::info(finding.kind).name;
    notice.error = error_text(finding);
    if (error_.empty()) error_ = notice.error;
}

/// Options make errors of some warnings.
bool Control::stops_for(const findings::Finding& finding) const {
    return session_.client_is_there &&
           (session_.stops_for(finding.kind) ||
            (session_.errors_stop && finding.severity == findings::Severity::error));
}

/// On the thread's own stack. Each place is told of once.
bool Control::wants_warning(const jit::BlockContext& /*block*/, std::uint32_t /*thread*/,
                            findings::FindingKind kind, std::uint32_t site) noexcept {
    if (backward_ || !session_.client_is_there || !session_.stops_for(kind)) return false;
    return site < told_warnings_.size() && !std::exchange(told_warnings_[site], 1);
}

/// Whether the thread has stopped for a warning.
bool Control::is_warned(StopNotice& notice) {
    const std::optional<findings::Finding> warning = launch_->warning();
    if (!warning) return false;
    note_warning(*warning, notice);
    return true;
}

void Control::note_warning(const findings::Finding& finding, StopNotice& notice) {
    notice.reason = StopReason::exception;
    notice.error_kind = findings::info(finding.kind).name;
    notice.error = std::string(findings::word(finding.severity)) + ": " + finding.message;
}

/// Threads that end with the same error at the same place are told of once.
void Control::faulted(StoppedLaunch& launch) {
    look(launch);
    const findings::Finding* finding = launch.fault(launch.stopped_thread());
    if (finding == nullptr) return;
    StopNotice notice;
    note_error(*finding, notice);
    compare_with_usual_code(*finding, notice);
    const bool is_new = told_errors_.emplace(finding->kind, place_text(*finding)).second;
    if (!stops_for(*finding) || !is_new) {
        if (pending_ && pending_->thread == launch.stopped_thread()) pending_.reset();
        return;
    }
    focus_ = launch.stopped_thread();
    serve(std::move(notice));
}

void Control::ended(StoppedLaunch& launch) {
    look(launch);
    if (StopNotice notice; any_watch_hit(notice))
        return stop_for_all(launch.stopped_thread(), std::move(notice));
    if (!pending_ || pending_->thread != launch.stopped_thread()) return;
    serve(notice_of(StopReason::step, "thread ended"));
}

void Control::reports(StoppedLaunch& launch, const findings::Finding& finding) {
    look(launch);
    if (!stops_for(finding) || !told_errors_.emplace(finding.kind, place_text(finding)).second) return;
    StopNotice notice;
    note_warning(finding, notice);
    compare_with_usual_code(finding, notice);
    stop_for_all(launch.stopped_thread(), std::move(notice));
}

void Control::ends_early(StoppedLaunch& launch, const findings::Finding& reason) {
    look(launch);
    StopNotice notice;
    note_error(reason, notice);
    compare_with_usual_code(reason, notice);
    // One for each block; the first shows them all.
    if (!stops_for(reason) || !told_errors_.emplace(reason.kind, "").second) return;
    focus_ = launch.stopped_thread();
    cannot_move_ = true;
    serve(std::move(notice));
    cannot_move_ = false;
}

// Serving --------------------------------------------------------------------------------------------------

/// Another host thread's launch may be stopped. False: this one is over meanwhile, or nobody is there any
/// more.
bool Control::wait_for_turn() {
    const bool was_over = launch_->over();
    while (!session_.serving.try_lock_for(poll_interval)) {
        if (!session_.client_is_there) return false;
        if (!was_over && launch_->poll()) return false;
    }
    if (session_.client_is_there) return true;
    session_.serving.unlock();
    return false;
}

void Control::wait_for_request() {
    const bool was_over = launch_->over();
    goes_on_ = false;
    request_.reset();
    while (!goes_on_ && !request_) {
        if (!session_.client_is_there) break;
        if (auto job = session_.mailbox.wait(poll_interval))
            (*job)(this);
        else if (!was_over && launch_->poll())
            break;
    }
    session_.mailbox.close();
    // The stopped thread is in the middle of a statement, or about to begin one: what it does there counts.
    if (watch_version_ != session_.watchpoints.version()) arm_watches(*launch_);
}

void Control::serve(StopNotice notice) {
    if (pending_) focus_ = pending_->thread;
    pending_.reset();
    if (!wait_for_turn()) return;
    const std::unique_lock turn(session_.serving, std::adopt_lock);
    note_pause_of_usual_code(notice);
    for (;;) {
        for (const auto& [id, count] : std::exchange(passed_, {}))
            notice.notes.push_back(std::to_string(count) + (count == 1 ? " other thread" : " other threads") +
                                   " passed " + session_.breakpoints.name(id));
        if (launch_->awaits_return_of(focus_)) notice.returned = launch_->returned_value();
        launch_->await_return({});
        ++stop_number_;
        notice_ = std::move(notice);
        notice_thread_ = focus_;
        session_.mailbox.open();
        session_.audience.stopped(*this, notice_);
        wait_for_request();
        if (backward_) return go_back();
        if (!request_) return;
        notice = {};
        Movement movement = *request_;
        switch (perform(movement, notice)) {
            case Outcome::stopped:
                break;
            case Outcome::waits:
                if (movement.is_locked) {
                    say_for_whom(movement, notice);
                    break;
                }
                come_back_later(movement);
                return;
            case Outcome::over:
                return;
        }
    }
}

std::string Control::set_focus(ThreadRef thread) {
    const findings::Dim3 grid = configuration().grid, block = configuration().block;
    if (thread.block >= grid.volume())
        return "there is no block " + std::to_string(thread.block) + ": the grid has " +
               std::to_string(grid.volume());
    if (thread.thread >= block.volume())
        return "there is no thread " + std::to_string(thread.thread) + ": a block has " +
               std::to_string(block.volume());
    if (!launch_->is_on_device(thread.block) && launch_->state(thread) == ThreadState::over)
        return "block " + std::to_string(thread.block) + " is over: all its threads have run to their ends" +
               (launch_->keeps_history()
                    ? "; a reverse command, such as reverse-continue with a breakpoint in "
                      "it, brings it back"
                    : "");
    focus_ = thread;
    return {};
}

}  // namespace cudasim::debugger
