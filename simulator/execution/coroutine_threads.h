// The threads of one block of a coroutine kernel (E1, abi.h): where each of them stands, and its frame.
//
// Compiled code moves every thread from its state to its next barrier, thread after thread: a phase. Between
// two phases nothing of a thread is on a stack, so a barrier costs no switch. In kernels with warp operations
// the scheduler runs warp after warp, each until all its lanes are at a barrier, over, or wait for lanes that
// spin.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/execution/warp_operations.h"
#include "simulator/jit/abi.h"
#include "simulator/jit/compiler.h"

namespace cudasim::execution {

/// A thread that waits, whatever carries it.
struct Waiter {
    std::uint32_t thread = 0;
    std::uint32_t site = 0;
    jit::BarrierKind kind = jit::BarrierKind::plain;
    bool in_warp = false;    ///< in a warp operation; else at a barrier
    bool may_go_on = false;  ///< what it waited for has come
};

class CoroutineThreads {
  public:
    /// All threads fresh. The context gets the addresses. A kernel without resume points: nothing to do.
    void start(const jit::CompiledKernel* kernel, std::uint32_t threads, jit::BlockContext& context);
    /// Are this block's threads coroutines?
    [[nodiscard]] bool active() const { return kernel_ != nullptr; }
    /// Do its lanes meet in warp operations?
    [[nodiscard]] bool lanes_meet() const { return lanes_meet_; }
    /// Is it, or was it until it was let go, in a warp operation?
    [[nodiscard]] bool waits_in_warp(std::uint32_t thread) const {
        const jit::ResumePoint* point = point_of(thread);
        return point != nullptr && point->in_warp;
    }
    /// Where it waits, or waited until it was let go.
    [[nodiscard]] std::optional<std::uint32_t> site_of(std::uint32_t thread) const {
        const jit::ResumePoint* point = point_of(thread);
        return point != nullptr ? std::optional(point->site) : std::nullopt;
    }
    /// Of a thread that waits in a warp operation: its kind and its mask.
    [[nodiscard]] std::pair<jit::WarpKind, std::uint32_t> operation_of(std::uint32_t thread) const {
        const jit::ResumePoint* point = lanes_meet_ ? point_of(thread) : nullptr;
        return point != nullptr ? std::pair(point->warp_kind, operations_[thread].mask)
                                : std::pair(jit::WarpKind{}, std::uint32_t{0});
    }
    void set_over(std::uint32_t thread) { states_[thread] = jit::thread_over; }
    /// The thread spins on a fiber: nobody is to enter it (lanes_meet()).
    void set_carried(std::uint32_t thread) { states_[thread] = jit::thread_carried; }
    /// Completes the operations of a warp for which all lanes have come. True: some lanes go on.
    bool complete_warp(std::uint32_t warp, SkippedOperations& skipped);
    /// All threads that wait go on (lanes_meet()).
    void release_all();
    /// The lowest lane that waits in a warp operation; there is one.
    [[nodiscard]] WaitingLane first_waiting_lane() const;
    /// The mask of the warp operation that the thread waits in; 0: it waits in none.
    [[nodiscard]] std::uint32_t mask_of(std::uint32_t thread) const;

    /// What the threads that are not over do once every thread has had its turn.
    struct Phase {
        std::uint32_t over = 0;     ///< threads that have ended or faulted
        std::uint32_t waiting = 0;  ///< at barriers
        std::uint32_t in_warp = 0;  ///< in warp operations
        std::uint32_t votes = 0;    ///< waiting threads whose predicate holds
        bool mixed = false;         ///< they do not all wait at one resume point
        jit::BarrierKind kind{};    ///< of the lowest thread's barrier, when any waits
    };
    [[nodiscard]] Phase phase() const;
    /// Ascending by thread.
    [[nodiscard]] std::vector<Waiter> waiters() const;

    /// All that the threads' future depends on, for livelock detection.
    [[nodiscard]] const std::vector<std::uint32_t>& states() const { return states_; }
    [[nodiscard]] const std::vector<std::byte>& frames() const { return frames_; }

    [[nodiscard]] const std::vector<jit::LaneOperation>& lane_operations() const { return operations_; }

  private:
    [[nodiscard]] std::optional<Phase> uniform_phase() const;
    [[nodiscard]] const jit::ResumePoint* point_of(std::uint32_t thread) const;
    [[nodiscard]] std::uint32_t companions(std::uint32_t first, std::uint32_t waiting,
                                           std::uint32_t lane) const;
    [[nodiscard]] std::optional<bool> complete_uniform_warp(std::uint32_t first);
    struct Lanes {
        std::uint32_t waiting = 0;  ///< in warp operations
        std::uint32_t over = 0;     ///< or never existed
    };
    [[nodiscard]] Lanes lanes_of(std::uint32_t first) const;

    const jit::CompiledKernel* kernel_ = nullptr;
    bool lanes_meet_ = false;
    std::vector<jit::LaneOperation> operations_;
    std::vector<std::uint32_t> states_;
    std::vector<std::byte> frames_;
    std::vector<std::uint8_t> votes_;
};

}  // namespace cudasim::execution
