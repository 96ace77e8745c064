// Control's part that moves threads (control.h).
#include <algorithm>
#include <chrono>

#include "debugger/control/control.h"
#include "simulator/jit/abi.h"

namespace cudasim::debugger {

using execution::ThreadRef;
using execution::ThreadState;

namespace {

/// Breakpoints of others are passed and counted; these are not.
bool stops_everything(StopReason reason) {
    return reason == StopReason::exception || reason == StopReason::pause || reason == StopReason::watch;
}

using namespace std::chrono_literals;
/// So long a thread that gives up its turn again and again goes on alone: it may compute for long. Then
/// others run, or where they may not, the user is told.
constexpr std::chrono::steady_clock::duration spin_patience = 200ms, locked_patience = 1s;
constexpr std::uint32_t no_line = ~std::uint32_t{0};
/// How often the host is served meanwhile.
constexpr std::chrono::steady_clock::duration poll_interval = 50ms;

}  // namespace

std::string Control::start(Movement movement) {
    if (cannot_move_) return "no thread can go on: the kernel ends here; continue lets it";
    const ThreadState state = launch_->state(movement.thread);
    if (state == ThreadState::faulted)
        return "the thread has ended with this error; continue lets the others go on";
    if (state == ThreadState::over) return "the thread has ended";
    if (movement.is_locked && movement.unit == StepUnit::grid)
        return "a step of the whole grid lets all others run, and lock is on; set step thread, or set lock "
               "off";
    if (std::string refused = launch_->start_block(movement.thread.block); !refused.empty()) return refused;
    const findings::CallChain place = launch_->location(movement.thread);
    movement.depth = std::max<std::size_t>(place.size(), 1);
    if (movement.levels >= movement.depth)
        return "the thread is in " + std::to_string(place.size()) +
               (place.size() == 1 ? " function" : " functions") + " of the kernel only";
    movement.depth -= movement.levels;
    if (!place.empty()) {
        movement.first_line = place.front().line;
        movement.first_function = place.front().function;
    }
    focus_ = movement.thread;
    if (movement.kind == MovementKind::step_out) launch_->await_return(movement.thread, movement.depth);
    request_ = std::move(movement);
    return {};
}

/// The thread stands at a statement that it has just come to.
bool Control::is_done(const Movement& movement) const {
    if (movement.kind == MovementKind::step_in) return true;
    if (movement.kind >= MovementKind::barrier) return false;
    const findings::CallChain place = launch_->location(movement.thread);
    if (place.size() < movement.depth) return true;
    if (movement.kind == MovementKind::next) return place.size() == movement.depth;
    if (movement.kind == MovementKind::step_out || place.empty()) return false;
    if (movement.line == 0) return place.size() == movement.depth && place.front().line > movement.first_line;
    return place.front().line == movement.line &&
           (movement.file.empty() || place.front().file == movement.file);
}

/// Lets the thread run, and no other, until the movement is done.
Control::Outcome Control::advance(Movement& movement, StopNotice& notice) {
    const bool to_a_wait = movement.kind >= MovementKind::barrier;
    const auto patience =
        std::chrono::steady_clock::now() + (movement.is_locked ? locked_patience : spin_patience);
    for (;;) {
        bool is_inside = false, is_hit = false;
        (void)launch_->stop_thread(movement.thread, !to_a_wait);
        const ThreadState before = launch_->state(movement.thread);
        const ThreadState state = launch_->run(movement.thread);
        (void)launch_->stop_thread(movement.thread, false);
        if ((launch_->over() || is_interrupted()) && !cannot_move_) return Outcome::over;
        movement.has_run |= before <= ThreadState::spins;
        switch (state) {
            case ThreadState::stopped:
                look(*launch_);
                is_inside = launch_->is_inside_statement();
                if (!is_inside) is_hit = any_hit(movement.thread, notice);
                if (any_watch_hit(notice) || is_warned(notice) || is_hit) return Outcome::stopped;
                notice = {};
                if (session_.take_pause()) {
                    notice.reason = StopReason::pause;
                    return Outcome::stopped;
                }
                if (!is_inside && is_done(movement)) return Outcome::stopped;
                break;
            case ThreadState::can_run:  // all have come to its barrier
            case ThreadState::not_started:
                break;
            case ThreadState::spins:
                if (session_.take_pause()) {
                    notice.reason = StopReason::pause;
                    return Outcome::stopped;
                }
                // It may as well compute for long: nobody else is to run for that.
                if (to_a_wait && !movement.is_locked) return Outcome::waits;
                if (std::chrono::steady_clock::now() >= patience) return Outcome::waits;
                break;
            case ThreadState::at_barrier:
            case ThreadState::in_warp:
                if (movement.kind != MovementKind::barrier || !movement.has_run) return Outcome::waits;
                notice.description = state == ThreadState::in_warp ? "in a warp operation" : "at a barrier";
                return Outcome::stopped;
            case ThreadState::faulted:
                if (const findings::Finding* finding = launch_->fault(movement.thread)) {
                    note_error(*finding, notice);
                    told_errors_.emplace(finding->kind, place_text(*finding));
                    if (!stops_for(*finding)) notice = notice_of(StopReason::step, "thread ended");
                }
                return Outcome::stopped;
            case ThreadState::over:
            case ThreadState::absent:
                notice.description = "thread ended";
                (void)any_watch_hit(notice);
                return Outcome::stopped;
        }
    }
}

/// Threads of the unit that are no further than the moving thread: those on its line, those that wait, and
/// those that have not started. Of the grid: those in blocks that have begun.
std::vector<Movement> Control::companions(const Movement& movement) const {
    const std::uint32_t moving = movement.thread.thread;
    const auto is_of_unit = [&](std::uint32_t thread) {
        return movement.unit != StepUnit::warp || thread / jit::warp_size == moving / jit::warp_size;
    };
    const std::vector<execution::ThreadPlace> own = launch_->places(movement.thread.block);
    if (moving >= own.size()) return {};
    const KernelCode::Line* line = code_->line_of(own[moving].site);
    std::vector<Movement> found;
    const auto add = [&](std::uint64_t block) {
        const std::vector<execution::ThreadPlace> places = launch_->places(block);
        for (std::uint32_t thread = 0; thread < places.size(); ++thread) {
            const ThreadState state = places[thread].state;
            const ThreadRef each{block, thread};
            if (each == movement.thread || state >= ThreadState::faulted || !is_of_unit(thread)) continue;
            if (state == ThreadState::stopped && code_->line_of(places[thread].site) != line) continue;
            found.push_back(movement);
            found.back().thread = each;
        }
    };
    add(movement.thread.block);
    if (movement.unit != StepUnit::grid) return found;
    for (const std::uint64_t block : launch_->blocks())
        if (block != movement.thread.block) add(block);
    return found;
}

/// Each goes as far as it can. Those that are there, or have ended, are taken out of the list. An error of
/// one of them stops everything. @param moved whether one has come further
Control::Outcome Control::move_companions(std::vector<Movement>& companions, StopNotice& notice,
                                          bool& moved) {
    std::vector<Movement> left;
    moved = false;
    for (Movement& each : companions) {
        for (;;) {
            if (launch_->state(each.thread) > ThreadState::spins) {
                if (launch_->state(each.thread) < ThreadState::faulted) left.push_back(each);
                break;
            }
            StopNotice own;
            each.has_run = false;
            const Outcome outcome = advance(each, own);
            if (outcome == Outcome::over) return outcome;
            if (stops_everything(own.reason)) {
                focus_ = each.thread;
                notice = std::move(own);
                return Outcome::stopped;
            }
            remember_passing(own);
            moved |= outcome == Outcome::stopped || launch_->state(each.thread) != ThreadState::spins;
            const bool passes_breakpoint = !own.hit_breakpoints.empty() && !is_done(each);
            if (passes_breakpoint) continue;
            if (outcome == Outcome::waits || each.kind == MovementKind::barrier) left.push_back(each);
            break;
        }
    }
    companions = std::move(left);
    return Outcome::waits;
}

/// The launch's time limit stands still while a thread is moved, and nobody else looks at the host's signals.
bool Control::is_interrupted() {
    const auto now = std::chrono::steady_clock::now();
    if (now - polled_ < poll_interval) return false;
    polled_ = now;
    return launch_->poll();
}

/// Threads of its block that have not come where it waits, and those for which these wait in their turn.
std::vector<Movement> Control::those_it_waits_for(const Movement& movement) const {
    std::vector<std::uint32_t> whom = launch_->wait_of(movement.thread).threads;
    std::set<std::uint32_t> known(whom.begin(), whom.end());
    std::vector<Movement> found;
    for (std::size_t i = 0; i < whom.size(); ++i) {
        const ThreadRef thread{movement.thread.block, whom[i]};
        if (thread == movement.thread) continue;
        if (launch_->state(thread) <= ThreadState::spins) {
            found.push_back(movement);
            found.back().kind = MovementKind::barrier;
            found.back().thread = thread;
            continue;
        }
        for (const std::uint32_t next : launch_->wait_of(thread).threads)
            if (known.insert(next).second) whom.push_back(next);
    }
    return found;
}

/// When the handler returns, the block that it was called for goes on first, and may run to its end. A thread
/// of another block gets what it waits for within its own block before.
Control::Outcome Control::let_block_help(Movement& movement, StopNotice& notice) {
    for (;;) {
        const Outcome outcome = advance(movement, notice);
        if (outcome != Outcome::waits || movement.is_locked) return outcome;
        if (movement.thread.block == launch_->called_for().block) return outcome;
        std::vector<Movement> others = those_it_waits_for(movement);
        bool moved = false;
        if (const Outcome rest = move_companions(others, notice, moved); rest != Outcome::waits) return rest;
        if (!moved) return outcome;
    }
}

/// The others of the unit come to where the focus comes to.
Control::Outcome Control::perform(Movement& movement, StopNotice& notice) {
    if (movement.unit == StepUnit::thread) return let_block_help(movement, notice);
    std::vector<Movement> others = companions(movement);
    Outcome outcome = advance(movement, notice);
    bool moved = false;
    while (outcome == Outcome::waits) {
        for (Movement& each : others) each.kind = MovementKind::barrier;
        if (const Outcome rest = move_companions(others, notice, moved); rest != Outcome::waits) return rest;
        if (!moved) {
            outcome = let_block_help(movement, notice);
            break;
        }
        outcome = advance(movement, notice);
    }
    const bool is_step = !stops_everything(notice.reason);
    const findings::CallChain place = launch_->location(movement.thread);
    if (outcome != Outcome::stopped || !is_step) return outcome;
    for (Movement& each : others) {
        each.kind = MovementKind::until;
        each.file = place.empty() ? "" : place.front().file;
        each.line = place.empty() ? no_line : place.front().line;  // where the focus has ended: to their ends
        each.depth = 1;
    }
    const ThreadRef focus = focus_;
    do {
        StopNotice further;
        const Outcome rest = move_companions(others, further, moved);
        if (rest == Outcome::over) return rest;
        if (rest == Outcome::stopped) {
            notice = std::move(further);
            return rest;
        }
    } while (moved && !others.empty());
    focus_ = focus;
    return outcome;
}

void Control::remember_passing(const StopNotice& notice) {
    for (const std::int64_t id : notice.hit_breakpoints) ++passed_[id];
}

/// The handler returns; the others run until the thread comes to its next statement.
void Control::come_back_later(const Movement& movement) {
    (void)launch_->stop_thread(movement.thread, true);
    pending_ = movement;
}

}  // namespace cudasim::debugger
