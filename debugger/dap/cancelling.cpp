// Adapter's requests that the client takes back. One that no launch has taken yet fails. An expression that
// is being evaluated is interrupted.
#include <chrono>

#include "debugger/dap/adapter.h"

namespace cudasim::debugger {

namespace {

/// How long `cancel` waits for the end of what it interrupts, and how often it asks meanwhile: the evaluation
/// may not have begun yet.
constexpr std::chrono::milliseconds longest_wait{1000}, between_tries{50};

}  // namespace

json::Value Adapter::cancel(const Arguments& arguments) {
    const std::int64_t request = arguments.number_if_there("requestId").value_or(0);
    const auto until = std::chrono::steady_clock::now() + longest_wait;
    std::unique_lock lock(queue_);
    const auto found = queued_.find(request);
    if (found == queued_.end()) return nullptr;  // it has its answer
    found->second.cancelled = true;
    if (!found->second.begun) return nullptr;
    const auto has_ended = [&] { return !queued_.contains(request); };
    while (!has_ended() && std::chrono::steady_clock::now() < until) {
        lock.unlock();
        session_.interrupt_evaluation();
        lock.lock();
        if (request_ended_.wait_for(lock, between_tries, has_ended)) break;
    }
    if (has_ended()) return nullptr;
    throw RequestError(
        "the request has not ended: it is in C code, such as one operation of NumPy's or on long integers, "
        "which "
        "cannot be interrupted; it is given up when that returns");
}

void Adapter::note_queued(std::int64_t request) {
    const std::lock_guard lock(queue_);
    queued_[request] = {};
}

bool Adapter::take_queued(std::int64_t request) {
    const std::lock_guard lock(queue_);
    const auto found = queued_.find(request);
    if (found == queued_.end()) return true;
    if (!found->second.cancelled) return found->second.begun = true;
    queued_.erase(found);
    return false;
}

bool Adapter::is_cancelled(std::int64_t request) {
    const std::lock_guard lock(queue_);
    const auto found = queued_.find(request);
    return found != queued_.end() && found->second.cancelled;
}

void Adapter::end_queued(std::int64_t request) {
    const std::lock_guard lock(queue_);
    queued_.erase(request);
    request_ended_.notify_all();
}

}  // namespace cudasim::debugger
