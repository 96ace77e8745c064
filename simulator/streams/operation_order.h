// Which operations of a program's streams are ordered, whether they run at once or later: a vector clock for
// each stream, each recorded event and the host. An operation (a kernel, a copy) happens after
//
//   - what is in its stream already, and what an event made the stream wait for
//   - what the legacy default stream of its device has, and in that stream everything of the device (CUDA
//     Runtime API, "Stream synchronization behavior")
//   - what the host has waited for before it enqueued the operation.
//
//   OperationOrder order;
//   order.keep();                                  // from now on; costs nothing before
//   const auto copy = order.enqueue({0, s1}, "script.py:12");
//   const auto kernel = order.enqueue({0, s2}, "script.py:13");
//   order.is_before(copy, kernel);                 // false: nothing makes s2 wait for s1
//
// Host threads count as one, as if each waited for what another one has waited for. Every function may be
// called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "simulator/streams/timeline.h"

namespace cudasim::streams {

class OperationOrder {
  public:
    /// In the order in which they were enqueued, from 1. 0: none, and ordered before and after all.
    using Number = std::uint64_t;

    /// Operations are noted from now on. What was enqueued before counts as done.
    void keep() { kept_.store(true, std::memory_order_release); }
    /// Nothing is noted any more, and everything so far counts as done.
    void forget();
    [[nodiscard]] bool is_kept() const noexcept { return kept_.load(std::memory_order_acquire); }

    /// The stream and the legacy default stream do not wait for each other (cudaStreamNonBlocking).
    void set_non_blocking(StreamKey stream);
    /// @param place the line that enqueues it; may be empty
    Number enqueue(StreamKey stream, std::string place);
    /// It has run, or never will.
    void finish(Number operation);
    /// An event is at the end of what is in the stream now.
    void record(std::uint64_t event, StreamKey stream);
    /// What is enqueued in the stream from now on runs after the event's point.
    void wait(StreamKey stream, std::uint64_t event);

    /// The host has waited for an operation, an event, a stream, or for all of a device's or all streams. The
    /// last three mean nothing in an operation, which does not wait for others.
    void host_waits(Number operation);
    void host_waits_for_event(std::uint64_t event);
    void host_waits(StreamKey stream);
    void host_waits(std::optional<int> device);

    /// Whether the host has waited for it, so that what the host does now comes after it.
    [[nodiscard]] bool host_has_waited(Number operation) const;
    /// Whether the one that began earlier is over when the later one begins, whatever the device does.
    [[nodiscard]] bool is_before(Number earlier, Number later) const;
    /// Whether every operation that is yet to run comes after it.
    [[nodiscard]] bool is_over(Number operation) const;
    /// Where it was enqueued; empty where that is not known.
    [[nodiscard]] std::string place_of(Number operation) const;

    /// The operation that the calling thread runs; 0: none.
    [[nodiscard]] static Number running() noexcept;
    /// While it lives the calling thread runs the operation, unless it is 0.
    class Running {
      public:
        Running(OperationOrder& order, Number operation);
        ~Running();
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

      private:
        OperationOrder& order_;
        Number operation_, before_;
    };

  private:
    /// The last operation of each stream that is known to be over.
    class Clock {
      public:
        void join(const Clock& other);
        void set(StreamKey stream, Number operation) { last_[stream] = operation; }
        [[nodiscard]] bool has(StreamKey stream, Number operation) const;

      private:
        std::map<StreamKey, Number> last_;
    };
    struct Operation {
        StreamKey stream;
        Clock after;
        std::string place;
        bool finished = false;
    };

    Clock& end_of(StreamKey stream);
    void forget_old();
    [[nodiscard]] bool is_over_locked(const Operation& operation, Number number) const;

    std::atomic<bool> kept_{false};
    mutable std::mutex mutex_;  ///< guards what follows
    Number last_ = 0;
    Clock host_;
    std::set<StreamKey> non_blocking_;
    std::map<StreamKey, Clock> ends_;
    std::map<std::uint64_t, Clock> events_;
    std::map<Number, Operation> operations_;
    std::size_t forget_at_ = 64;
};

}  // namespace cudasim::streams
