// Control's part for launches in which nothing can stop (control.h): they run their usual code, and begin
// again in code with stops when they fail, or somebody sets a breakpoint in them or pauses them.
#include <algorithm>

#include "debugger/control/control.h"

namespace cudasim::debugger {

using execution::StoppedLaunch;

bool Control::needs_stops(const execution::KernelToStop& kernel) {
    image_ = kernel.image;
    if (session_.history_bytes == 0 || session_.stop_at_entry || session_.pause_is_wanted()) return true;
    if (const CoreSource* core = CoreSource::of_this_thread(); core != nullptr && core->is_recorded())
        return true;
    code_ = session_.source_code_of(kernel.image, kernel.kernel);
    found_ = session_.breakpoints.resolve(code_);
    if (!may_stop()) return false;
    // The optimiser removes statements, or puts them on other lines.
    code_ = session_.code_of(kernel.compile_with_stops());
    const std::vector<Breakpoint> found = session_.breakpoints.resolve(code_);
    found_.insert(found_.end(), found.begin(), found.end());
    return may_stop();
}

/// Whether anything that is set may stop the launch. Any host thread calls it.
bool Control::may_stop() const {
    if (session_.warnings_stop()) return true;
    const std::lock_guard lock(code_mutex_);
    return std::ranges::any_of(session_.breakpoints.snapshot(),
                               [&](const Breakpoint& each) { return !places_of(each).empty(); }) ||
           std::ranges::any_of(session_.watchpoints.snapshot(), [&](const Watchpoint& each) {
               return each.target.launch == 0 || each.target.launch == number_;
           });
}

bool Control::begins_again_for(const findings::Finding& failure) {
    if (stops_for(failure)) {
        failure_ = failure;
        return true;
    }
    if (error_.empty()) error_ = error_text(failure);
    return false;
}

void Control::has_code_with_stops(StoppedLaunch& launch) {
    error_.clear();
    auto code = session_.code_of(launch.launch().kernel);
    {
        const std::lock_guard lock(code_mutex_);
        code_ = std::move(code);
    }
    for (const Breakpoint& breakpoint : session_.breakpoints.resolve(code_))
        session_.audience.breakpoint_changed(breakpoint);
    arm(launch);
    at_entry_ = session_.stop_at_entry.exchange(false);
    if (at_entry_) look_soon();
    if (!session_.pause_is_wanted()) return;
    paused_usual_code_ = true;
    launch.stop_as_far_as_before();
}

/// The launch fails with stops. Of what ends early all threads are told of, so that it does not matter which
/// one the finding names.
void Control::compare_with_usual_code(const findings::Finding& failure, StopNotice& notice) {
    if (!failure_) return;
    const bool is_of_thread = launch_->fault(launch_->stopped_thread()) != nullptr;
    if (failure.kind != failure_->kind || (is_of_thread && !(failure.thread == failure_->thread)))
        notice.notes.push_back("without stops the launch failed otherwise: " + error_text(*failure_) + " " +
                               findings::coordinates(failure_->thread));
    failure_.reset();
}

void Control::note_pause_of_usual_code(StopNotice& notice) {
    if (!std::exchange(paused_usual_code_, false) || notice.reason != StopReason::pause) return;
    const execution::Launch& launch = launch_->launch();
    const std::uint64_t begun = std::min(launch.next_block.load(), launch.block_count);
    const std::uint64_t before = launch_->blocks_before();
    if (begun < before) {
        notice.notes.push_back(
            "the launch has begun again so that it can stop, and is not as far as it was: " +
            std::to_string(begun) + " of its blocks have begun, " + std::to_string(before) + " had");
    } else if (begun == before && launch_->slices_before() != 0) {
        const bool is_as_far = launch_->slices() >= launch_->slices_before();
        notice.notes.emplace_back(
            is_as_far
                ? "the launch has begun again so that it can stop, and is about as far as it was"
                : "the launch has begun again so that it can stop, and is not as far as it was: as many of "
                  "its blocks have begun, but the last one is not as far");
    }
}

/// The launch has ended with stops, and nothing stopped it.
void Control::tell_of_lost_failure() {
    if (!failure_ || stop_number_ != 0 || !session_.client_is_there || launch_->over()) return;
    session_.audience.output("without stops the launch failed, with stops it did not: " +
                             error_text(*failure_) + " " + findings::coordinates(failure_->thread) + "\n");
}

}  // namespace cudasim::debugger
