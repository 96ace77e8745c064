// The warps of one block: lanes that wait for each other in a warp operation, and what they get (E4).
//
// Threads are scheduled independently, as from Volta on. An operation is complete when every lane that its
// mask names and that has not ended has come to an operation of the same kind with the same mask (PTX ISA,
// shfl.sync: "same qualifiers and same membermask"), wherever in the code that is. activemask waits until
// nothing else of the block can run; then the lanes of a warp that stand at the same call see each other.
//
// Lanes whose operation is complete are *free*: the scheduler takes them from here when the pass over their
// warp has come to its end (thread_order.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/execution/runner.h"
#include "simulator/execution/skipped_operations.h"

namespace cudasim::execution {

/// A lane that waits in a warp operation. missing: those that it waits for, that have not come and have not
/// ended.
struct WaitingLane {
    std::uint32_t thread = 0, site = 0;
    std::uint32_t mask = 0, missing = 0;
};

class WarpOperations {
  public:
    /// Forgets everything. @param tracks whether threads of this block may come to warp operations at all
    void start(std::uint32_t threads, bool tracks);
    [[nodiscard]] bool tracks() const { return tracks_; }

    /// A lane has come, which its mask names; runners whose operation is complete
    /// get their results and are free.
    void arrive(Runner* runner, SkippedOperations& skipped) {
        Warp& warp = warps_[runner->thread / jit::warp_size];
        const std::uint32_t lane = runner->thread % jit::warp_size;
        if (warp.waiting == 0) {
            warp.kind = runner->warp.kind;
            warp.mask = runner->warp.mask;
            warp.uniform = true;
        } else {
            warp.uniform &= warp.kind == runner->warp.kind && warp.mask == runner->warp.mask;
        }
        warp.lanes[lane] = runner;
        warp.waiting |= std::uint32_t{1} << lane;
        ++waiting_count_;
        if (((runner->warp.mask & ~warp.over) & ~warp.waiting) == 0) [[unlikely]]
            all_have_come(warp, *runner, skipped);
    }
    /// Threads [first, last) have ended; others may have waited for nobody but them.
    void end(std::uint32_t first, std::uint32_t last, SkippedOperations& skipped);
    /// Answers activemask. False when nobody asked.
    bool answer_active();

    /// Lanes of the warp that have ended or never existed.
    [[nodiscard]] std::uint32_t lanes_over(std::uint32_t warp) const { return warps_[warp].over; }

    [[nodiscard]] bool any_free() const { return free_count_ != 0; }
    [[nodiscard]] std::uint32_t free_lanes(std::uint32_t warp) const { return warps_[warp].free; }
    /// Gives a free lane to the scheduler.
    [[nodiscard]] Runner* take(std::uint32_t warp, std::uint32_t lane) {
        warps_[warp].free &= ~(std::uint32_t{1} << lane);
        --free_count_;
        return warps_[warp].lanes[lane];
    }
    /// Ascending by thread.
    [[nodiscard]] std::vector<Runner*> free() const;

    [[nodiscard]] std::uint32_t waiting_count() const { return waiting_count_; }
    /// Ascending by thread.
    [[nodiscard]] std::vector<Runner*> waiting() const;
    /// The lowest; there is one.
    [[nodiscard]] WaitingLane first_waiting() const;
    /// The mask of the warp operation that the thread waits in; 0: it waits in none.
    [[nodiscard]] std::uint32_t mask_of(std::uint32_t thread) const;
    /// Whether the runner waits or is free.
    [[nodiscard]] bool holds(const Runner* runner) const;
    /// Forgets the lanes that wait or are free and puts them into the list.
    void take_all(std::vector<Runner*>& into);

  private:
    struct Warp {
        std::array<Runner*, jit::warp_size> lanes{};
        std::uint32_t waiting = 0;  ///< lanes
        std::uint32_t free = 0;     ///< lanes
        std::uint32_t over = 0;     ///< lanes that ended or never existed
        std::uint32_t mask = 0;     ///< of the lanes that wait, when uniform
        jit::WarpKind kind{};
        bool uniform = true;  ///< all that wait are in one kind of operation with one mask
    };
    void all_have_come(Warp& warp, const Runner& runner, SkippedOperations& skipped);
    void complete_where_possible(Warp& warp, SkippedOperations& skipped);
    void complete(Warp& warp, const Runner& runner, std::uint32_t lanes, SkippedOperations& skipped);
    [[nodiscard]] std::uint32_t companions(const Warp& warp, const Runner& runner) const;
    void release(Warp& warp, std::uint32_t lanes);

    std::vector<Warp> warps_;
    std::uint32_t waiting_count_ = 0, free_count_ = 0;
    bool tracks_ = false;
};

}  // namespace cudasim::execution
