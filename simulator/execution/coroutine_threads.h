// The threads of one block of a coroutine kernel (E1, abi.h): where each of them stands, and its frame.
//
// Compiled code moves every thread from its state to its next barrier, thread after thread: a phase. Between two
// phases nothing of a thread is on a stack, so a barrier costs no switch.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/jit/abi.h"
#include "simulator/jit/compiler.h"

namespace cudasim::execution {

/// A thread that waits at a barrier, whatever carries it.
struct Waiter {
    std::uint32_t thread = 0;
    std::uint32_t site = 0;
    jit::BarrierKind kind = jit::BarrierKind::plain;
};

class CoroutineThreads {
  public:
    /// All threads fresh. The context gets the addresses. A kernel without resume points: nothing to do.
    void start(const jit::CompiledKernel* kernel, std::uint32_t threads, jit::BlockContext& context);
    /// Are this block's threads coroutines?
    [[nodiscard]] bool active() const { return kernel_ != nullptr; }
    void set_over(std::uint32_t thread) { states_[thread] = jit::thread_over; }

    /// What the threads that are not over do once every thread has had its turn.
    struct Phase {
        std::uint32_t over = 0;     ///< threads that have ended or faulted
        std::uint32_t waiting = 0;
        std::uint32_t votes = 0;    ///< waiting threads whose predicate holds
        bool mixed = false;         ///< they do not all wait at one resume point
        jit::BarrierKind kind{};    ///< of the lowest thread's barrier, when any waits
    };
    [[nodiscard]] Phase phase() const;
    /// Ascending by thread.
    [[nodiscard]] std::vector<Waiter> waiters() const;

    /// For livelock detection: all that the threads' future depends on.
    [[nodiscard]] const std::vector<std::uint32_t>& states() const { return states_; }
    [[nodiscard]] const std::vector<std::byte>& frames() const { return frames_; }

  private:
    const jit::CompiledKernel* kernel_ = nullptr;
    std::vector<std::uint32_t> states_;
    std::vector<std::byte> frames_;
    std::vector<std::uint8_t> votes_;
};

}  // namespace cudasim::execution
