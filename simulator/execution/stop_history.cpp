// Stops: going back (stop.h). The launch returns to a checkpoint and runs again. Statements are counted down
// to the next one at which something is to be done: where the handler did something (Choice), or where the
// launch is to stop.
#include <algorithm>
#include <cstring>
#include <new>

#include "simulator/execution/block_run.h"
#include "simulator/execution/captured_values.h"
#include "simulator/execution/launch_history.h"
#include "simulator/execution/stop.h"
#include "simulator/execution/worker.h"

namespace cudasim::execution {

std::string StoppedLaunch::keep_history(std::uint64_t limit, Clock::duration interval) {
    if (launch_.host_kernel != nullptr) return "kernels in Python mode cannot go back";
    if (limit == 0) return "it is switched off";
    const std::lock_guard lock(*launch_.arena_mutex);
    const std::uint64_t needed = MemoryCopy::writable_bytes(*launch_.arena);
    if (needed > limit)
        return "a copy of the device's memory takes " + std::to_string(needed) + " bytes, and only " +
               std::to_string(limit) + " may be used";
    try {
        history_ = std::make_unique<LaunchHistory>(launch_, limit, interval);
    } catch (const std::bad_alloc&) {
        return "there is no memory for a copy of the device's memory, " + std::to_string(needed) + " bytes";
    }
    return {};
}

void StoppedLaunch::follow(std::optional<ThreadRef> thread, std::uint64_t from) {
    const auto set = [&](ThreadRef which, std::uint32_t bit) {
        if (!exists(which)) return;
        BlockRun& block = *find(which.block);
        block.set_steps(which.thread, (block.stop_state(which.thread).steps & ~jit::step_followed) | bit);
    };
    if (followed_) set(*followed_, 0);
    followed_.reset();
    follows_later_.reset();
    if (from != 0) {
        follows_later_ = thread;
        follows_from_ = from;
        return;
    }
    followed_ = thread;
    if (followed_) set(*followed_, jit::step_followed);
}

// Counting -------------------------------------------------------------------------------------------------

void StoppedLaunch::count_on(std::uint64_t statements) {
    counted_ = count();
    counting_ = words_[0] = statements;
}

/// On a simulated stack.
std::size_t StoppedLaunch::depth_at(const jit::ThreadStop& here, std::uint32_t site) const noexcept {
    std::size_t depth = site < depths_.size() ? depths_[site] : 0;
    const std::vector<jit::StopPlace>& places = launch_.kernel->stops.places;
    const jit::FrameRecord* record = here.innermost;
    while (record != nullptr && (record = record->caller) != nullptr)
        if (record->place < places.size()) depth += depths_[places[record->place].site];
    return depth;
}

// Back -----------------------------------------------------------------------------------------------------

std::uint64_t StoppedLaunch::run_again(std::uint64_t from, std::uint64_t to, Repetition repetition) {
    goes_back_ = {from, to};
    until_.reset();
    is_silent_ = repetition == Repetition::silent;
    launch_.request_stop(Stop::goes_back);  // or it has stopped for another reason, which is undone
    return history_->checkpoint_before(from);
}

std::uint64_t StoppedLaunch::run_again_to_here(std::uint64_t from, Repetition repetition) {
    // Time has ended it, which comes at another statement each time: it arrives where the last one began.
    const Stop reason = launch_.stop.load();
    if (reason == Stop::livelock || reason == Stop::time_limit) return run_again(from, count(), repetition);
    const std::uint64_t begin = run_again(from, never, repetition);
    until_ = call_;
    return begin;
}

bool StoppedLaunch::goes_back() {
    if (!goes_back_) return false;
    const auto [from, to] = *std::exchange(goes_back_, std::nullopt);
    counted_ = history_->restore(from);
    watches_.go_back();
    counting_ = words_[0] = never;
    (void)begins_to_follow();
    target_ = to;
    repeats_ = true;
    differs_ = is_at_count_ = false;
    faults_.clear();
    launch_.stop = Stop::none;
    renew_deadline();
    count_to_next();
    return true;
}

void StoppedLaunch::find_frames(BlockRun& block, std::uint32_t thread) {
    watches_.find_frames(block.stop_state(thread), block.context(), thread);
}

const SavedDevice* StoppedLaunch::begin_again(std::vector<CountedWarning>& warnings) const {
    return history_ ? history_->restore_warnings(warnings) : nullptr;
}

void StoppedLaunch::between_blocks(Worker& worker) {
    if (history_) history_->look(worker, count(), false);
}

bool StoppedLaunch::checkpoint_is_due() const {
    return fiber::Fiber::can_be_copied && history_ != nullptr && worker_ == nullptr &&
           history_->is_due(count());
}

void StoppedLaunch::between_turns(Worker& worker) {
    history_->look(worker, count(), true);
}

std::uint64_t StoppedLaunch::clock(std::uint64_t now) const {
    return history_ ? history_->clock(now) : now;
}

bool StoppedLaunch::was_printed(std::uint64_t turn, std::string_view text) const {
    return history_ && history_->was_printed(turn, text);
}

// And forwards again ---------------------------------------------------------------------------------------

/// Whether the thread of follow() is followed from here on.
bool StoppedLaunch::begins_to_follow() {
    if (!follows_later_ || count() < follows_from_) return false;
    follow(ThreadRef(*follows_later_));
    return true;
}

void StoppedLaunch::count_to_place(std::uint64_t count) {
    count_to(follows_later_ ? std::min(count, follows_from_) : count);
}

/// The next statement at which something is to be done.
void StoppedLaunch::count_to_next() {
    const HandlerCall* next = next_call();
    const bool is_stop = next != nullptr && next->event == StopEvent::stopped && next->count < target_;
    const bool is_statement = is_stop && next->access == AccessPlace{};
    count_to_place(is_statement ? next->count : target_);
    awaits_.reset();
    if (is_stop && !is_statement) awaits_ = *next;
}

/// Of the handler, at which something is to be done.
const HandlerCall* StoppedLaunch::next_call() const {
    if (const Choice* choice = history_->next_choice()) return &choice->call;
    return until_ ? &*until_ : nullptr;
}

/// Whether there is a thread of which repeats_end_of() is true.
bool StoppedLaunch::repeats_an_end() const {
    const HandlerCall* next = repeats_ ? next_call() : nullptr;
    return next != nullptr && next->event == StopEvent::ended;
}

bool StoppedLaunch::repeats_end_of(ThreadRef thread) const {
    return repeats_an_end() && *next_call() == HandlerCall{count(), StopEvent::ended, thread, {}};
}

/// From here on the handler decides again.
void StoppedLaunch::arrive() {
    repeats_ = is_silent_ = false;
    until_.reset();
    handler_.stopped(*this);
    if (!is_to_go_back()) history_->forget_future();
}

HandlerCall StoppedLaunch::call_for(StopEvent event) const {
    const bool is_inside = event == StopEvent::stopped && is_inside_statement();
    return {count(), event, last_stopped_, is_inside ? access_ : AccessPlace{}};
}

/// On a simulated stack.
bool StoppedLaunch::is_awaited(const jit::BlockContext& block, std::uint32_t thread,
                               const AccessPlace& access) const noexcept {
    if (!awaits_) return false;
    return *awaits_ == HandlerCall{count(), StopEvent::stopped, {jit::linear_index(block), thread}, access};
}

/// The handler is to be called. While the launch repeats itself, what it did then is done instead.
void StoppedLaunch::repeat_or_call(StopEvent event, const std::function<void()>& call) {
    call_ = call_for(event);
    const bool is_at_count = std::exchange(is_at_count_, false);
    if (!repeats_) return call();
    const bool is_stop = event == StopEvent::stopped;
    if (is_stop && is_at_count && count() == target_) {
        repeat_values();
        return arrive();
    }
    const bool follows = is_at_count && begins_to_follow();
    if (is_stop && !is_silent_ && !follows) handler_.stopped(*this);
    if (is_to_go_back()) return;
    const Choice* choice = history_->next_choice();
    const bool is_here = until_ == call_;
    if (choice != nullptr && choice->call == call_) {
        repeat_choices();
        if (!is_here || !repeats_ || is_to_go_back()) return;
    }
    if (is_here) return arrive();
    if (follows) return count_to_next();
    // Another thread was to come here, or the launch has ended before it came where it was to stop.
    if (is_at_count || (until_ && event == StopEvent::ends_early)) {
        differs_ = true;
        return arrive();
    }
}

void StoppedLaunch::repeat_choices() {
    while (const Choice* next = history_->next_choice()) {
        if (next->call != call_) break;
        const Choice choice = *next;
        history_->choice_is_repeated();
        switch (choice.kind) {
            case Choice::Kind::run:
                if (!repeat_run(choice)) return;
                break;
            case Choice::Kind::start_block:
                if (is_on_device(choice.thread.block)) break;
                try {
                    worker_->start_before_its_turn(launch_, choice.thread.block);
                } catch (const std::bad_alloc&) {
                    launch_.run_out_of_memory({}, worker_->runners().stacks());
                }
                break;
            case Choice::Kind::set_variable:
            case Choice::Kind::write:
                repeat_value(choice);
                break;
        }
    }
    count_to_next();
}

void StoppedLaunch::repeat_value(const Choice& choice) {
    if (choice.kind == Choice::Kind::set_variable && exists(choice.thread)) {
        const std::byte* place =
            set_in_record(launch_, find(choice.thread.block)->stop_state(choice.thread.thread).innermost,
                          choice.frame, choice.variable, choice.bytes);
        if (place != nullptr) watches_.refresh(reinterpret_cast<std::uint64_t>(place), choice.bytes.size());
    }
    if (choice.kind == Choice::Kind::write &&
        accessible(choice.thread, choice.address, choice.bytes.size(), true))
        put(choice.thread, choice.address, choice.bytes);
}

/// Where the launch arrives, the handler had set values before it let threads run.
void StoppedLaunch::repeat_values() {
    while (const Choice* next = history_->next_choice()) {
        if (next->call != call_ ||
            (next->kind != Choice::Kind::set_variable && next->kind != Choice::Kind::write))
            return;
        const Choice choice = *next;
        history_->choice_is_repeated();
        repeat_value(choice);
    }
}

/// @return false: the launch has come to where it was to stop, on the way
bool StoppedLaunch::repeat_run(const Choice& choice) {
    if (state(choice.thread) > ThreadState::spins) return true;
    const bool ends_at_statement = choice.at_statement && choice.end < target_;
    const std::uint64_t end = ends_at_statement ? choice.end : target_;
    count_to_place(end);
    awaits_.reset();
    if (choice.end_access != AccessPlace{})
        awaits_ = {choice.end, StopEvent::stopped, choice.thread, choice.end_access};
    while (run_held(choice.thread) == ThreadState::stopped) {
        const bool is_at_count = std::exchange(is_at_count_, false);
        if (is_at_count && count() == target_) {
            if (choice.at_statement && choice.end == target_)
                repeat_values();
            else
                history_->stop_repeating(true, target_);
            arrive();
            return false;
        }
        if (is_at_count && begins_to_follow() && count() != end) {
            count_to_place(end);
            continue;
        }
        if (!is_silent_) handler_.stopped(*this);
        if (is_to_go_back()) return false;
        if (is_at_count || (awaits_ && call_for(StopEvent::stopped) == *awaits_)) break;
    }
    return true;
}

}  // namespace cudasim::execution
