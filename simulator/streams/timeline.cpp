// See timeline.h. What is enqueued, and how it is marked as done; running it is drain.cpp's.
#include "simulator/streams/timeline.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "simulator/streams/drain.h"

namespace cudasim::streams {

namespace {

/// RunOptions::poll is called as often.
constexpr auto poll_interval = std::chrono::milliseconds(50);

}  // namespace

bool TimedLock::try_lock_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    if (!unlocked_.wait_for(lock, time, [this] { return !locked_; })) return false;
    locked_ = true;
    return true;
}

void TimedLock::unlock() {
    const std::lock_guard lock(mutex_);
    locked_ = false;
    unlocked_.notify_one();
}

OperationPtr Timeline::enqueue(StreamKey stream, Work work) {
    auto operation = std::make_shared<Operation>();
    operation->stream_ = stream;
    operation->predecessors_ = std::exchange(work.after, {});
    operation->is_callback_ = work.callback;
    operation->work_ = std::move(work);
    const std::lock_guard lock(mutex_);
    operation->number_ = ++last_number_;
    const auto is_default = [](const StreamKey& key) { return key.handle == StreamKey::legacy_default; };
    for (const auto& [key, tail] : tails_) {
        const bool ordered =
            key == stream || (key.device == stream.device && (is_default(stream) || is_default(key)) &&
                              !non_blocking_.contains(stream) && !non_blocking_.contains(key));
        if (ordered) operation->predecessors_.push_back(tail);
    }
    std::erase_if(operation->predecessors_, [](const auto& each) { return !each || each->done(); });
    tails_[stream] = operation;
    idle_.store(false, std::memory_order_release);
    if (operation->is_callback_) {
        callbacks_[operation->number_] = operation;
        callbacks_changed_.notify_all();
    }
    return operation;
}

OperationPtr Timeline::tail(StreamKey stream) {
    const std::lock_guard lock(mutex_);
    const auto found = tails_.find(stream);
    return found == tails_.end() ? nullptr : found->second;
}

std::vector<OperationPtr> Timeline::tails(std::optional<int> device) {
    std::vector<OperationPtr> result;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, tail] : tails_)
        if (!device || key.device == *device) result.push_back(tail);
    return result;
}

std::vector<OperationPtr> Timeline::tails_before_default(int device) {
    std::vector<OperationPtr> result;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, tail] : tails_)
        if (key.device == device && !non_blocking_.contains(key)) result.push_back(tail);
    return result;
}

void Timeline::set_non_blocking(StreamKey stream) {
    const std::lock_guard lock(mutex_);
    non_blocking_.insert(stream);
}

std::vector<OperationPtr> Timeline::needed_for(std::vector<OperationPtr> targets) {
    const std::lock_guard lock(mutex_);
    return needed_locked(std::move(targets));
}

std::vector<OperationPtr> Timeline::needed_locked(std::vector<OperationPtr> targets) {
    std::vector<OperationPtr> needed;
    std::set<const Operation*> seen;
    while (!targets.empty()) {
        const OperationPtr operation = std::move(targets.back());
        targets.pop_back();
        if (!operation || operation->done() || !seen.insert(operation.get()).second) continue;
        targets.insert(targets.end(), operation->predecessors_.begin(), operation->predecessors_.end());
        needed.push_back(operation);
    }
    return needed;
}

bool Timeline::waits_for_others(const OperationPtr& operation) {
    return std::ranges::any_of(needed_for({operation}), [](const auto& each) {
        return each->is_callback_ || each->in_background_.load();
    });
}

bool Timeline::has_callbacks() {
    return std::ranges::any_of(needed_for(tails()), [](const auto& each) { return each->is_callback_; });
}

bool Timeline::waits_for_background_locked(const Operation& operation) {
    return in_background_.load() != 0 &&
           std::ranges::any_of(needed_locked(operation.predecessors_),
                               [](const auto& each) { return each->in_background_.load(); });
}

bool Timeline::lock_drain(const RunOptions& options) {
    while (!drain_lock_.try_lock_for(poll_interval))
        if (options.poll && options.poll()) return false;
    return true;
}

bool Timeline::run(std::vector<OperationPtr> targets, const RunOptions& options) {
    const auto all_done = [&] {
        std::erase_if(targets, [](const auto& target) { return !target || target->done(); });
        return targets.empty();
    };
    const auto stopped = [this] {
        drop();
        return false;
    };
    while (!all_done()) {
        std::uint64_t ended = 0;
        {
            const std::lock_guard lock(mutex_);
            ended = background_ended_;
        }
        if (!lock_drain(options)) return stopped();
        if (!drain(targets, options)) return stopped();
        if (all_done()) break;
        {
            std::unique_lock lock(mutex_);
            waiting_for_background_.fetch_add(1);
            background_changed_.wait_for(lock, poll_interval, [&] { return background_ended_ != ended; });
            waiting_for_background_.fetch_sub(1);
        }
        if (options.poll && options.poll()) return stopped();
    }
    return true;
}

void Timeline::run_ready(const RunOptions& options) {
    const auto targets = tails();
    if (!targets.empty() && (!lock_drain(options) || !drain(targets, options, false))) drop();
}

bool Timeline::drain(const std::vector<OperationPtr>& targets, const RunOptions& options,
                     bool waits_for_callbacks) {
    const std::lock_guard locked(drain_lock_, std::adopt_lock);
    return Drain(*this, options, waits_for_callbacks).run(targets);
}

void Timeline::go_on_in_background(StreamKey stream, std::function<int()> rest) {
    auto operation = std::make_shared<Operation>();
    operation->stream_ = stream;
    operation->state_ = Operation::State::taken;
    {
        const std::lock_guard lock(mutex_);
        operation->number_ = ++last_number_;
        // Another host thread may have enqueued something there meanwhile: both come before what follows.
        if (auto& tail = tails_[stream]) operation->predecessors_.push_back(tail);
        tails_[stream] = operation;
        idle_.store(false, std::memory_order_release);
    }
    go_on(operation, std::move(rest));
}

void Timeline::go_on(const OperationPtr& operation, std::function<int()> rest) {
    {
        const std::lock_guard lock(mutex_);
        operation->in_background_ = true;
        ++background_of_device_[operation->stream_.device];
        in_background_.fetch_add(1);
    }
    {
        const std::lock_guard lock(fiber_mutex_);
        changed_.notify_all();
    }
    const auto finish = [this, operation, rest = std::move(rest)] { complete(*operation, rest()); };
    try {
        std::thread([this, finish] {
            finish();
            if (after_background_) after_background_();
        }).detach();
    } catch (const std::system_error&) {
        finish();  // the host gives no more threads
    }
}

bool Timeline::wait_for_background(std::optional<int> device, std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    waiting_for_background_.fetch_add(1);
    const bool over = background_changed_.wait_for(lock, wait, [&] {
        return device ? background_of_device_[*device] == 0 : in_background_.load() == 0;
    });
    waiting_for_background_.fetch_sub(1);
    return over;
}

void Timeline::drop(std::optional<int> device) {
    for (const auto& operation : needed_for(tails(device))) {  // tasks are destroyed without the lock
        if (device && operation->stream_.device != *device) continue;
        auto expected = Operation::State::pending;
        if (operation->state_.compare_exchange_strong(expected, Operation::State::taken))
            complete(*operation, 0);
    }
}

void Timeline::complete(Operation& operation, int status) {
    Work finished;
    std::vector<OperationPtr> predecessors;
    OperationPtr kept;
    {
        const std::lock_guard lock(mutex_);
        operation.status_ = status;
        finished = std::exchange(operation.work_, {});
        predecessors = std::exchange(operation.predecessors_, {});
        operation.state_.store(Operation::State::done);
        const auto tail = tails_.find(operation.stream_);
        if (tail != tails_.end() && tail->second.get() == &operation) {
            kept = tail->second;
            tails_.erase(tail);
            idle_.store(tails_.empty(), std::memory_order_release);
        }
        callbacks_.erase(operation.number_);
        if (operation.in_background_.load()) {
            --background_of_device_[operation.stream_.device];
            in_background_.fetch_sub(1);
            ++background_ended_;
            background_changed_.notify_all();
            callbacks_changed_.notify_all();
        }
    }
    const std::lock_guard lock(fiber_mutex_);
    changed_.notify_all();
}

int Timeline::status_before(const Operation& operation) {
    for (const auto& before : operation.predecessors_)
        if (before->status_ != 0) return before->status_;
    return 0;
}

void Timeline::dispatch(const OperationPtr& callback) {
    const std::lock_guard lock(mutex_);
    auto expected = Operation::State::pending;
    callback->state_.compare_exchange_strong(expected, Operation::State::dispatched);
    callbacks_changed_.notify_all();
}

OperationPtr Timeline::next_callback(std::chrono::milliseconds wait) {
    const auto end = Clock::now() + wait;
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto now = Clock::now();
        auto wake = end;
        OperationPtr first;
        for (const auto& [number, operation] : callbacks_) {
            if (operation->state_.load() == Operation::State::dispatched) {
                const OperationPtr dispatched = operation;
                dispatched->state_.store(Operation::State::taken);
                callbacks_.erase(number);
                return dispatched;
            }
            if (!first && operation->state_.load() == Operation::State::pending &&
                !waits_for_background_locked(*operation))
                first = operation;
        }
        // Only the first is looked at: before it there is no callback that this very thread would have to
        // run.
        if (first && first->work_.due <= now) {
            callbacks_.erase(first->number_);
            return first;
        }
        if (first) wake = std::min(wake, first->work_.due);
        if (now >= end) return nullptr;
        callbacks_changed_.wait_until(lock, wake);
    }
}

bool Timeline::gives_way(const OperationPtr& callback) {
    const std::lock_guard lock(mutex_);
    const bool another_is_waited_for = std::ranges::any_of(callbacks_, [](const auto& entry) {
        return entry.second->state_.load() == Operation::State::dispatched;
    });
    if (another_is_waited_for) callbacks_[callback->number_] = callback;
    return another_is_waited_for;
}

void Timeline::run_callback(const OperationPtr& callback, const RunOptions& options) {
    std::vector<OperationPtr> before;
    {
        const std::lock_guard lock(mutex_);
        before = callback->predecessors_;
    }
    // run() is not called here: another thread's drain may have come to this callback and wait for it.
    while (callback->state_.load() == Operation::State::pending &&
           !std::ranges::all_of(before, &Operation::done)) {
        if (!drain_lock_.try_lock_for(std::chrono::milliseconds(5))) {
            if (gives_way(callback)) return;
        } else if (!drain(before, options)) {
            return drop();
        } else if (!std::ranges::all_of(before, &Operation::done)) {
            // Something has gone on in the background: the callback's turn comes when it is over.
            const std::lock_guard lock(mutex_);
            callbacks_[callback->number_] = callback;
            return;
        }
    }
    auto state = callback->state_.load();
    while (state != Operation::State::done &&
           !callback->state_.compare_exchange_weak(state, Operation::State::taken)) {
    }
    if (state == Operation::State::done) return;  // dropped
    const int status = status_before(*callback);
    callback->work_.task(status);
    complete(*callback, status);
}

}  // namespace cudasim::streams
