// Work that other host threads have for the thread whose launch is stopped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace cudasim::debugger {

class Control;

/// One launch at a time has it open: while its handler waits.
class Mailbox {
  public:
    /// Called with the stopped launch, or with null: it has gone on before the job's turn came.
    using Job = std::function<void(Control*)>;

    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
    }
    /// What was left in it is called with null.
    void close() {
        std::deque<Job> left;
        {
            const std::lock_guard lock(mutex_);
            open_ = false;
            left.swap(jobs_);
        }
        for (Job& job : left) job(nullptr);
    }
    /// False: no launch is stopped, and the job is not taken.
    [[nodiscard]] bool post(Job job) {
        {
            const std::lock_guard lock(mutex_);
            if (!open_) return false;
            jobs_.push_back(std::move(job));
        }
        arrived_.notify_one();
        return true;
    }
    [[nodiscard]] std::optional<Job> wait(std::chrono::milliseconds most) {
        std::unique_lock lock(mutex_);
        if (!arrived_.wait_for(lock, most, [&] { return !jobs_.empty(); })) return std::nullopt;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        return job;
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Job> jobs_;
    bool open_ = false;
};

}  // namespace cudasim::debugger
