// The default stream of a device: work that a thread does in its order, while the program goes on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace cudasim::stand_in {

class WorkQueue {
  public:
    using Ticket = std::uint64_t;  ///< of work, ascending; 0: done

    /// Starts the thread at the first call.
    Ticket add(std::function<void()> work);
    [[nodiscard]] bool is_done(Ticket ticket) const { return done_.load() >= ticket; }
    void wait_for(Ticket ticket);
    void wait_for_all();

    /// Whether the process ends: work that runs is to return soon.
    [[nodiscard]] bool ends() const { return ends_.load(); }
    /// Called by work that never ends. @return whether the process ends, and not only the time is over
    bool wait_for_end(std::optional<std::chrono::milliseconds> time);
    /// Returns when no work runs any more. Later work is not done.
    void end();

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    Ticket last_ = 0;  ///< that was given
    std::atomic<Ticket> done_{0};
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace cudasim::stand_in
