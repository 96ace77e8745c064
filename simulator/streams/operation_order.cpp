// See stream_order.h.
#include "simulator/streams/operation_order.h"

#include <algorithm>
#include <utility>

namespace cudasim::streams {

namespace {

thread_local OperationOrder::Number running_here = 0;

}  // namespace

void OperationOrder::Clock::join(const Clock& other) {
    for (const auto& [stream, operation] : other.last_) {
        Number& known = last_[stream];
        known = std::max(known, operation);
    }
}

bool OperationOrder::Clock::has(StreamKey stream, Number operation) const {
    const auto known = last_.find(stream);
    return known != last_.end() && known->second >= operation;
}

/// What comes next in the stream happens after this.
OperationOrder::Clock& OperationOrder::end_of(StreamKey stream) {
    Clock& end = ends_[stream];
    end.join(host_);
    if (non_blocking_.contains(stream)) return end;
    if (stream.handle != StreamKey::legacy_default) {
        const auto legacy = ends_.find({stream.device, StreamKey::legacy_default});
        if (legacy != ends_.end()) end.join(legacy->second);
        return end;
    }
    for (const auto& [key, other] : ends_)
        if (key.device == stream.device && key != stream && !non_blocking_.contains(key)) end.join(other);
    return end;
}

void OperationOrder::forget() {
    const std::lock_guard lock(mutex_);
    kept_.store(false, std::memory_order_release);
    host_ = {};
    ends_.clear();
    events_.clear();
    operations_.clear();
}

void OperationOrder::set_non_blocking(StreamKey stream) {
    const std::lock_guard lock(mutex_);
    non_blocking_.insert(stream);
}

OperationOrder::Number OperationOrder::enqueue(StreamKey stream, std::string place) {
    const std::lock_guard lock(mutex_);
    const Number number = ++last_;
    Clock& end = end_of(stream);
    operations_.emplace(number, Operation{stream, end, std::move(place)});
    end.set(stream, number);
    if (operations_.size() > forget_at_) forget_old();
    return number;
}

void OperationOrder::finish(Number operation) {
    const std::lock_guard lock(mutex_);
    if (const auto found = operations_.find(operation); found != operations_.end())
        found->second.finished = true;
}

void OperationOrder::record(std::uint64_t event, StreamKey stream) {
    if (!is_kept()) return;
    const std::lock_guard lock(mutex_);
    events_[event] = end_of(stream);
}

void OperationOrder::wait(StreamKey stream, std::uint64_t event) {
    if (!is_kept()) return;
    const std::lock_guard lock(mutex_);
    const auto point = events_.find(event);
    if (point != events_.end()) end_of(stream).join(point->second);
}

void OperationOrder::host_waits(Number operation) {
    if (!is_kept()) return;
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(operation);
    if (found == operations_.end()) return;
    host_.join(found->second.after);
    host_.set(found->second.stream, operation);
}

void OperationOrder::host_waits_for_event(std::uint64_t event) {
    if (!is_kept() || running_here != 0) return;
    const std::lock_guard lock(mutex_);
    if (const auto point = events_.find(event); point != events_.end()) host_.join(point->second);
}

void OperationOrder::host_waits(StreamKey stream) {
    if (!is_kept() || running_here != 0) return;
    const std::lock_guard lock(mutex_);
    host_.join(end_of(stream));
}

void OperationOrder::host_waits(std::optional<int> device) {
    if (!is_kept() || running_here != 0) return;
    const std::lock_guard lock(mutex_);
    for (const auto& [stream, end] : ends_)
        if (!device || stream.device == *device) host_.join(end);
}

bool OperationOrder::host_has_waited(Number operation) const {
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(operation);
    return found == operations_.end() || host_.has(found->second.stream, operation);
}

bool OperationOrder::is_before(Number earlier, Number later) const {
    if (earlier == later) return true;
    const std::lock_guard lock(mutex_);
    const auto first = operations_.find(earlier), second = operations_.find(later);
    if (first == operations_.end() || second == operations_.end()) return true;
    return second->second.after.has(first->second.stream, earlier);
}

bool OperationOrder::is_over_locked(const Operation& operation, Number number) const {
    if (!host_.has(operation.stream, number)) return false;
    return std::ranges::all_of(operations_, [&](const auto& each) {
        return each.second.finished || each.first == number ||
               each.second.after.has(operation.stream, number);
    });
}

bool OperationOrder::is_over(Number operation) const {
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(operation);
    return found == operations_.end() || is_over_locked(found->second, operation);
}

std::string OperationOrder::place_of(Number operation) const {
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(operation);
    return found == operations_.end() ? std::string() : found->second.place;
}

void OperationOrder::forget_old() {
    for (auto each = operations_.begin(); each != operations_.end();)
        each = each->second.finished && is_over_locked(each->second, each->first) ? operations_.erase(each)
                                                                                  : std::next(each);
    forget_at_ = std::max<std::size_t>(64, 2 * operations_.size());
}

OperationOrder::Number OperationOrder::running() noexcept {
    return running_here;
}

OperationOrder::Running::Running(OperationOrder& order, Number operation)
    : order_(order), operation_(operation), before_(running_here) {
    if (operation != 0) running_here = operation;
}

OperationOrder::Running::~Running() {
    if (operation_ == 0) return;
    running_here = before_;
    order_.finish(operation_);
}

}  // namespace cudasim::streams
