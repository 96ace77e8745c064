#include "tests/gpu_backend/libcuda/stand_in/work_queue.h"

#include <utility>

namespace cudasim::stand_in {

WorkQueue::Ticket WorkQueue::add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable() && !ends_) thread_ = std::thread([this] { run(); });
    waiting_.push_back(std::move(work));
    changed_.notify_all();
    return ++last_;
}

void WorkQueue::wait_for(Ticket ticket) {
    if (is_done(ticket)) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done(ticket) || ends_; });
}

void WorkQueue::wait_for_all() {
    std::unique_lock lock(mutex_);
    const Ticket last = last_;
    changed_.wait(lock, [&] { return is_done(last) || ends_; });
}

bool WorkQueue::wait_for_end(std::optional<std::chrono::milliseconds> time) {
    std::unique_lock lock(mutex_);
    const auto ends = [&] { return ends_.load(); };
    if (time) return changed_.wait_for(lock, *time, ends);
    changed_.wait(lock, ends);
    return true;
}

void WorkQueue::end() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void WorkQueue::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
        if (ends_) return;
        auto work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work();
        work = nullptr;
        lock.lock();
        ++done_;
        changed_.notify_all();
    }
}

}  // namespace cudasim::stand_in
