// Events of the default stream (page "Event Management").
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "tests/gpu_backend/libcuda/stand_in/gpu.h"

namespace cudasim::libcuda {

struct EventState {
    using Clock = std::chrono::steady_clock;
    stand_in::Gpu& gpu;
    bool has_time = true;
    /// Of the last cuEventRecord; 0: none.
    std::atomic<stand_in::WorkQueue::Ticket> ticket{0};
    std::atomic<Clock::time_point> when{};
};

}  // namespace cudasim::libcuda

namespace cudasim::stand_in {

class Events {
  public:
    [[nodiscard]] static Events& of_this_process();

    [[nodiscard]] Event create(Gpu& gpu, bool has_time);
    [[nodiscard]] bool destroy(Event event);
    void destroy_all(const Gpu& gpu);
    /// Null for what is no event.
    [[nodiscard]] std::shared_ptr<libcuda::EventState> find(Event event) const;

  private:
    mutable std::mutex mutex_;
    std::map<Event, std::shared_ptr<libcuda::EventState>> events_;
};

}  // namespace cudasim::stand_in
