// See drain.h.
#include "simulator/streams/drain.h"

#include <algorithm>
#include <bit>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>
#include <mutex>
#include <random>
#include <utility>

namespace cudasim::streams {

namespace {

/// Waiting and handing over is all that runs there.
constexpr std::size_t fiber_stack_bytes = 64 << 10;
constexpr auto poll_interval = std::chrono::milliseconds(50);

}  // namespace

Drain::Streams Drain::needed(const std::vector<OperationPtr>& targets) const {
    Streams streams;
    for (auto& operation : timeline_.needed_for(targets))
        streams[operation->stream_].push_back(std::move(operation));
    for (auto& [key, operations] : streams)
        std::ranges::sort(operations, {}, [](const OperationPtr& operation) { return operation->number_; });
    return streams;
}

std::vector<const std::vector<OperationPtr>*> Drain::in_order(const Streams& streams) const {
    std::vector<const std::vector<OperationPtr>*> result;
    for (const auto& [key, operations] : streams) result.push_back(&operations);
    std::ranges::sort(result, {}, [](const auto* operations) { return operations->front()->number_; });
    if (options_.order == StreamOrder::reverse) std::ranges::reverse(result);
    if (options_.order == StreamOrder::random) std::ranges::shuffle(result, std::mt19937_64(options_.seed));
    return result;
}

bool Drain::run(const std::vector<OperationPtr>& targets) {
    const Streams streams = needed(targets);
    if (streams.empty()) return true;
    handed_over_ = std::make_unique<boost::fibers::buffered_channel<Operation*>>(
        std::bit_ceil(std::max<std::size_t>(2 * streams.size() + 1, 4)));
    std::vector<boost::fibers::fiber> fibers;
    for (const auto* operations : in_order(streams)) {
        fibers.emplace_back(boost::fibers::launch::post, std::allocator_arg,
                            boost::fibers::fixedsize_stack(fiber_stack_bytes), [this, operations] {
                                follow(*operations);
                                handed_over_->push(nullptr);
                            });
    }
    serve(fibers.size());
    for (auto& fiber : fibers) fiber.join();
    return !stopping_;
}

template <typename Condition>
void Drain::wait_until(Condition condition) {
    std::unique_lock lock(timeline_.fiber_mutex_);
    timeline_.changed_.wait(lock, [&] { return stopping_ || condition(); });
}

bool Drain::is_left(const OperationPtr& operation) const {
    return !operation->done() && (operation->in_background_.load() || left_.contains(operation.get()));
}

void Drain::leave(std::span<const OperationPtr> operations) {
    const std::lock_guard lock(timeline_.fiber_mutex_);
    for (const auto& operation : operations) left_.insert(operation.get());
    timeline_.changed_.notify_all();
}

void Drain::follow(const std::vector<OperationPtr>& operations) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const auto& operation = operations[i];
        std::vector<OperationPtr> before;
        {
            const std::lock_guard lock(timeline_.mutex_);
            before = operation->predecessors_;
        }
        bool waits_for_left = false;
        wait_until([&] {
            waits_for_left = std::ranges::any_of(before, [&](const auto& each) { return is_left(each); });
            return waits_for_left || std::ranges::all_of(before, &Operation::done);
        });
        if (stopping_) return;
        if (waits_for_left || !take_turn(operation)) return leave(std::span(operations).subspan(i));
        if (stopping_) return;
    }
}

bool Drain::take_turn(const OperationPtr& operation) {
    if (operation->is_callback_) {
        if (!waits_for_callbacks_) return operation->done();
        timeline_.dispatch(operation);
    } else {
        auto expected = Operation::State::pending;
        if (operation->state_.compare_exchange_strong(expected, Operation::State::taken))
            handed_over_->push(operation.get());
    }
    wait_until([&] { return operation->done() || operation->in_background_.load(); });
    return operation->done();
}

void Drain::serve(std::size_t fibers) {
    while (fibers > 0) {
        Operation* operation = nullptr;
        if (handed_over_->pop_wait_for(operation, poll_interval) !=
            boost::fibers::channel_op_status::success) {
            if (!stopping_ && options_.poll && options_.poll()) stop();
        } else if (operation == nullptr) {
            --fibers;
        } else {
            Outcome outcome{Timeline::status_before(*operation)};
            if (!stopping_ && outcome.status == 0 && operation->work_.task)
                outcome = operation->work_.task(0);
            if (outcome.rest)
                timeline_.go_on(operation->shared_from_this(), std::move(outcome.rest));
            else
                timeline_.complete(*operation, outcome.status);
            if (outcome.stop) stop();
        }
    }
}

void Drain::stop() {
    const std::lock_guard lock(timeline_.fiber_mutex_);
    stopping_ = true;
    timeline_.changed_.notify_all();
}

}  // namespace cudasim::streams
