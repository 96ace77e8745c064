// A thread with a large stack for work whose recursion follows the size of a program: LLVM's passes, the
// front ends' walks over syntax trees. The thread that asks for it may have 64 KiB (threading.stack_size); it
// waits, and meanwhile answers for the host program: signals, progress.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace cudasim::image {

/// The work was given up because the host asked for it.
struct Cancelled {};

/// What the work asks from time to time, so that it ends soon after the host wants it to.
class Cancellation {
  public:
    void request() { requested_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool requested() const { return requested_.load(std::memory_order_relaxed); }
    /// @throws Cancelled
    void check() const {
        if (requested()) throw Cancelled{};
    }

  private:
    std::atomic<bool> requested_{false};
};

/// Called about every 50 ms on the waiting thread with the seconds since the work began. Returns true to ask
/// the work to end.
using HostPoll = std::function<bool(double seconds)>;

/// Runs `work` and returns when it is over, with what it threw. Where no thread can be had it runs on this
/// one, without polls.
void on_large_stack(const std::function<void(const Cancellation&)>& work, const HostPoll& poll = {});

/// What the calling thread may still put on its stack, in bytes; 0 when that is not known.
[[nodiscard]] std::size_t remaining_stack();

}  // namespace cudasim::image
