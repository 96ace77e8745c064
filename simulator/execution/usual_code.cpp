// Stops: a launch with a handler that begins in its usual code, because nothing is to stop (stop.h). It keeps
// a history from its beginning. When it fails there, or is wanted to stop, it ends, is undone, and begins
// again in code with stops.
#include <algorithm>

#include "simulator/execution/launch_history.h"
#include "simulator/execution/stop.h"

namespace cudasim::execution {

namespace {

/// Who wants a launch to stop does not wait longer, however far it had come.
constexpr auto longest_way = std::chrono::seconds(2);

}  // namespace

void StoppedLaunch::stop_soon() {
    Code code = Code::usual;
    if (code_.compare_exchange_strong(code, Code::left))
        launch_.request_stop(Stop::goes_back);  // or it has stopped for another reason, which is undone
    else if (code == Code::with_stops)
        stop_everywhere();
}

/// What the host has ended, and what there was no memory for, is over.
bool StoppedLaunch::is_to_begin_again() const {
    if (code_.load() != Code::left) return false;
    const Stop reason = launch_.stop.load();
    return reason != Stop::interrupted && reason != Stop::out_of_memory;
}

bool StoppedLaunch::begins_again() {
    if (!is_to_begin_again()) return false;
    blocks_before_ = std::min(launch_.next_block.load(), launch_.block_count);
    slices_before_ = std::exchange(slices_, 0);
    time_before_ = Clock::now() - launch_.start;
    counted_ = history_->restore(0);
    launch_.stop = Stop::none;
    take_code_with_stops();
    renew_deadline();
    return !over();
}

/// Nothing of the launch has run, or it has been undone.
void StoppedLaunch::take_code_with_stops() {
    launch_.take_code_with_stops();
    launch_.can_stop = true;
    make_flags();
    if (history_) history_->code_has_changed();
    counted_ = 0;
    counting_ = never;
    code_ = Code::with_stops;  // from here on other host threads may set flags
    handler_.has_code_with_stops(*this);
}

void StoppedLaunch::stop_as_far_as_before() {
    const Clock::time_point now = Clock::now();
    latest_ = now + longest_way;
    // Slices are comparable as far as both codes have the same loops: code with stops also needs more time.
    as_far_at_ = slices_before_ != 0 ? now : std::min(now + time_before_, latest_);
    if (blocks_before_ == 0) stop_if_as_far(latest_);
}

void StoppedLaunch::stop_if_as_far(Clock::time_point now) {
    const std::uint64_t begun = std::min(launch_.next_block.load(), launch_.block_count);
    const bool is_as_far = begun > blocks_before_ || (begun == blocks_before_ && slices_ >= slices_before_);
    if (now < as_far_at_ || (now < latest_ && !is_as_far)) return;
    as_far_at_ = {};
    stop_everywhere();
}

/// The time limit begins anew.
void StoppedLaunch::renew_deadline() {
    if (!launch_.has_deadline) return;
    launch_.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(launch_.options.time_limit_seconds));
}

std::shared_ptr<const MemoryCopy> StoppedLaunch::memory_before() const {
    return history_ ? history_->memory_before() : nullptr;
}

}  // namespace cudasim::execution
