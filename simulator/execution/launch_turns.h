// Launches of one device from several host threads run one at a time. A launch that waits for its turn asks
// its own host about every 50 ms whether to go on waiting. (std::timed_mutex would do; gcc 12's
// ThreadSanitizer does not know how it waits.)
#pragma once

#include <condition_variable>
#include <mutex>

#include "simulator/execution/launch.h"

namespace cudasim::execution {

class LaunchTurns {
  public:
    /// Holds the device until it is destroyed, unless the launch was stopped while it waited.
    class Turn {
      public:
        Turn(LaunchTurns& turns, Launch& launch) : turns_(turns), held_(turns.take(launch)) {}
        ~Turn() {
            if (held_) turns_.give_back();
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        [[nodiscard]] explicit operator bool() const { return held_; }

      private:
        LaunchTurns& turns_;
        bool held_;
    };

  private:
    [[nodiscard]] bool take(Launch& launch) {
        std::unique_lock lock(mutex_);
        while (!free_.wait_for(lock, host_poll_interval, [this] { return !taken_; })) {
            lock.unlock();
            launch.start = Clock::now();
            launch.poll_host(launch.start);
            if (launch.stopped()) return false;
            lock.lock();
        }
        return taken_ = true;
    }
    void give_back() {
        {
            const std::lock_guard lock(mutex_);
            taken_ = false;
        }
        free_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable free_;
    bool taken_ = false;
};

}  // namespace cudasim::execution
