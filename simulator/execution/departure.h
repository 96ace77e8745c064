// A launch whose caller does not wait for its end: it goes on in the background, as a kernel does on a GPU,
// because its threads wait for what the host program, or another launch, does next.
//
//   MyDeparture departure;
//   LaunchResult result;
//   {
//       const Departure::OfThisThread offered(departure);
//       result = device.launch(...);                              // to its end, or until departure.leaves()
//   }
//   if (auto rest = departure.take_rest()) std::thread(...);      // calls rest->finish(); `result` is empty
//
// From its departure on other launches of the device run beside it, on workers of their own. Launches of
// host kernels, with stops or with observers never leave.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "simulator/execution/device.h"

namespace cudasim::execution {

/// A launch in the background, as whoever let it leave sees it. Called on the launch's threads.
class DepartedLaunch {
  public:
    virtual ~DepartedLaunch() = default;
    /// Whether anybody else may write what its threads read, now or later. A spin is proven to be endless
    /// only while nobody may (livelock.cpp).
    [[nodiscard]] virtual bool others_may_write() = 0;
    /// Whether it is to end at once ("interrupted"). Asked about every 50 ms.
    [[nodiscard]] virtual bool is_to_end() = 0;
};

/// What is left of a launch when its caller has gone.
class LaunchRest {
  public:
    virtual ~LaunchRest() = default;
    /// Runs it to its end, on the calling thread. Called once.
    [[nodiscard]] virtual LaunchResult finish() = 0;
};

class Departure {
  public:
    virtual ~Departure() = default;
    /// Asked about every 50 ms, on the thread that launches, until there is one.
    /// @param turns that threads have given up since the launch began, because they went round in loops
    /// @return null: the launch goes on there
    [[nodiscard]] virtual std::shared_ptr<DepartedLaunch> leaves(const LaunchProgress& progress,
                                                                 std::uint64_t turns) = 0;

    void leave(std::unique_ptr<LaunchRest> rest) { rest_ = std::move(rest); }
    /// Null: the launch has ended.
    [[nodiscard]] std::unique_ptr<LaunchRest> take_rest() { return std::move(rest_); }

    /// Of the launch that the calling thread begins; null: it does not leave.
    [[nodiscard]] static Departure* offered();
    class OfThisThread {
      public:
        explicit OfThisThread(Departure& departure);
        ~OfThisThread();
        OfThisThread(const OfThisThread&) = delete;
        OfThisThread& operator=(const OfThisThread&) = delete;
    };

  private:
    std::unique_ptr<LaunchRest> rest_;
};

/// A launch to which a departure was offered, as its workers see it.
class LeavingLaunch {
  public:
    explicit LeavingLaunch(Departure& departure) : departure_(&departure) {}

    /// LaunchOptions::poll_host, in whose place ask() comes.
    void take_poll(std::function<bool(const LaunchProgress&)> poll) { poll_ = std::move(poll); }
    /// Asks that, and the departure or the launch that has left. On the launching thread.
    /// @return whether the launch is to end
    [[nodiscard]] bool ask(const LaunchProgress& progress);
    /// Worker 0 returns as soon as it can, and goes on on another thread.
    [[nodiscard]] bool leaves() const { return leaves_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool has_left() const { return departed_.load(std::memory_order_acquire) != nullptr; }
    /// Worker 0 has returned, and its caller is going.
    [[nodiscard]] Departure& caller_goes();
    void count_turn() {
        if (!has_left()) turns_.fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] bool others_may_write() const;

  private:
    std::function<bool(const LaunchProgress&)> poll_;
    Departure* departure_;  ///< of the launching thread; null when that is gone
    std::shared_ptr<DepartedLaunch> owner_;
    std::atomic<DepartedLaunch*> departed_{nullptr};
    std::atomic<bool> leaves_{false};
    std::atomic<std::uint64_t> turns_{0};
};

}  // namespace cudasim::execution
