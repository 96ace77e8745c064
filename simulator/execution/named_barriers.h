// A block's barriers for some of its threads: PTX's barriers 0 to 15 with a number of
// threads (PTX ISA, "bar, barrier").
//
//   bar.sync a, b     waits until b threads have come to barrier a
//   bar.arrive a, b   counts as one of them and goes on
//   bar.red a, b, p   waits as bar.sync does, and gives all that wait an answer about p of them
//
// A warp counts as 32 threads when all its lanes that have not ended have come, together or one after
// another: seen on an H100 on 23 November 2026, where lanes of two warps that came without the others of
// their warps never went on. Without a number of threads the barrier is for the whole block, and warps that
// have ended count as if they had come (E3).
//
// Whoever waits at the barrier of the block's cluster (cluster_arrivals.h) is among those that wait here.
//
// Nothing is kept for a block none of whose threads has come to such a barrier.
// Runs on the worker's own stack.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/execution/cluster_arrivals.h"
#include "simulator/execution/runner.h"
#include "simulator/execution/warp_operations.h"

namespace cudasim::execution {

class NamedBarriers {
  public:
    /// What is wrong with an arrival; it has not been counted.
    enum class Misuse : std::uint8_t {
        none,
        number,         ///< there is no barrier of this number
        threads,        ///< no positive multiple of the warp size
        other_threads,  ///< others have come to it for another number of threads
        other_kind      ///< bar.red and anything else, or another bar.red
    };

    /// A barrier that is complete, and the warps that have come as a whole. Threads of others stay.
    struct Complete {
        std::uint32_t number = 0, threads = 0;
        std::span<const std::uint16_t> arrivals;  ///< by thread of the block
        std::span<Runner* const> waiting;
        std::uint32_t missing =
            0;  ///< of a barrier of the whole block: threads that have ended without coming
    };

    /// Forgets everything.
    void start() {
        if (in_use()) [[unlikely]]
            forget();
    }
    [[nodiscard]] bool in_use() const { return !arrivals_.empty() || cluster_.in_use(); }

    /// A thread has come to the barrier that runner->named says. Unless that is to
    /// go on, the runner waits here.
    /// @param block_threads how many threads the block has
    Misuse arrive(Runner* runner, const WarpOperations& warps, std::uint32_t block_threads);
    [[nodiscard]] ClusterArrivals& cluster() { return cluster_; }
    [[nodiscard]] const ClusterArrivals& cluster() const { return cluster_; }
    /// The phase of the cluster's barrier is over: the threads that wait for that are free.
    void release_cluster() { cluster_.complete(free_); }
    /// Threads [first, last) have ended, as `warps` knows already.
    void threads_ended(std::uint32_t first, std::uint32_t last, const WarpOperations& warps);
    /// Calls tell(const Complete&) for each barrier that is complete; its waiting threads are *free* then.
    template <typename Tell>
    void complete(Tell tell) {
        for (std::uint32_t number = 0; number < barriers_.size(); ++number) {
            const Barrier& barrier = barriers_[number];
            if (barrier.threads == 0 || barrier.arrived < barrier.threads) continue;
            const Complete complete = complete_barrier(number);
            tell(complete);
            release(complete);
        }
    }

    [[nodiscard]] const std::vector<Runner*>& free() const { return free_; }
    /// Moves them to the end of the list.
    void take_free(std::vector<Runner*>& into);
    /// Takes one that is free.
    void take(Runner* runner);

    [[nodiscard]] std::uint32_t waiting_count() const {
        return waiting_count_ + static_cast<std::uint32_t>(cluster_.waiting().size());
    }
    /// Those that are not free.
    [[nodiscard]] std::vector<Runner*> waiting() const;
    /// For how many threads a barrier is to which some have come, and as how many those count.
    struct Progress {
        std::uint32_t arrived = 0, threads = 0;
        std::uint32_t in_part =
            0;  ///< that wait there, of warps of which others have not come; not among `arrived`
    };
    [[nodiscard]] Progress progress(std::uint32_t number) const;
    /// Whether the runner waits or is free.
    [[nodiscard]] bool holds(const Runner* runner) const;
    /// Forgets all that wait or are free and puts them into the list.
    void take_all(std::vector<Runner*>& into);

  private:
    struct Barrier {
        std::uint32_t threads = 0;  ///< 0: nobody has come
        std::uint32_t arrived = 0;  ///< the sum of by_warp_
        jit::BarrierKind kind{};    ///< plain also for those that only arrive
        bool whole_block = false;
        std::vector<Runner*> waiting;
    };
    void forget();
    void use(std::uint32_t block_threads);
    void count(std::uint32_t number, std::uint32_t warp, const WarpOperations& warps);
    [[nodiscard]] Complete complete_barrier(std::uint32_t number);
    [[nodiscard]] std::span<std::uint16_t> arrivals(std::uint32_t number) {
        return std::span(arrivals_).subspan(std::size_t{number} * lanes_, lanes_);
    }
    [[nodiscard]] std::span<std::uint32_t> by_warp(std::uint32_t number) {
        return std::span(by_warp_).subspan(std::size_t{number} * (lanes_ / jit::warp_size),
                                           lanes_ / jit::warp_size);
    }
    void release(const Complete& complete);

    std::array<Barrier, jit::barriers_per_block> barriers_;
    std::vector<std::uint16_t> arrivals_;  ///< by barrier and lane
    std::vector<std::uint32_t> by_warp_;   ///< by barrier and warp: as how many threads it counts
    std::vector<std::uint16_t> complete_arrivals_;
    std::vector<Runner*> free_;
    std::uint32_t lanes_ = 0;  ///< of all warps of the block
    std::uint32_t threads_ = 0;
    std::uint32_t waiting_count_ = 0;  ///< without those of cluster_
    ClusterArrivals cluster_;
};

}  // namespace cudasim::execution
