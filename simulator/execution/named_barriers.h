// A block's barriers for some of its threads: PTX's barriers 0 to 15 with a number of threads (PTX ISA, "bar, barrier").
//
//   bar.sync a, b     waits until b threads have come to barrier a
//   bar.arrive a, b   counts as one of them and goes on
//   bar.red a, b, p   waits as bar.sync does, and gives all that wait an answer about p of them
//
// Threads are counted one by one, as hardware does from Volta on, which is the same as counting warps where all lanes of a
// warp come. Lanes that ended or never existed come with those of their warp that do. Without a number of threads the barrier
// is for the whole block, and warps that have ended count as if they had come (E3).
//
// Nothing is kept for a block none of whose threads has come to such a barrier. Runs on the worker's own stack.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

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

    /// A barrier that is complete.
    struct Complete {
        std::uint32_t number = 0, threads = 0;
        std::span<const std::uint16_t> arrivals;  ///< by thread of the block
        std::span<Runner* const> waiting;
        std::uint32_t missing =
            0;  ///< of a barrier of the whole block: threads that have ended without coming
    };

    /// Forgets everything.
    void start() {
        if (!arrivals_.empty()) [[unlikely]]
            forget();
    }
    [[nodiscard]] bool in_use() const { return !arrivals_.empty(); }

    /// A thread has come to the barrier that runner->named says. Unless that is to go on, the runner waits here.
    /// @param block_threads how many threads the block has
    Misuse arrive(Runner* runner, const WarpOperations& warps, std::uint32_t block_threads);
    /// Threads [first, last) have ended, as `warps` knows already.
    void threads_ended(std::uint32_t first, std::uint32_t last, const WarpOperations& warps);
    /// Calls tell(const Complete&) for each barrier that is complete; its waiting threads are *free* then.
    template <typename Tell>
    void complete(Tell tell) {
        for (std::uint32_t number = 0; number < barriers_.size(); ++number) {
            const Barrier& barrier = barriers_[number];
            if (barrier.threads == 0 || barrier.arrived < barrier.threads) continue;
            tell(complete_barrier(number));
            release(number);
        }
    }

    [[nodiscard]] const std::vector<Runner*>& free() const { return free_; }
    /// Moves them to the end of the list.
    void take_free(std::vector<Runner*>& into);
    /// Takes one that is free.
    void take(Runner* runner);

    [[nodiscard]] std::uint32_t waiting_count() const { return waiting_count_; }
    /// Those that are not free.
    [[nodiscard]] std::vector<Runner*> waiting() const;
    /// For how many threads a barrier is to which some have come, and how many those are.
    struct Progress {
        std::uint32_t arrived = 0, threads = 0;
    };
    [[nodiscard]] Progress progress(std::uint32_t number) const {
        return {barriers_[number].arrived, barriers_[number].threads};
    }
    /// Whether the runner waits or is free.
    [[nodiscard]] bool holds(const Runner* runner) const;
    /// Forgets all that wait or are free and puts them into the list.
    void take_all(std::vector<Runner*>& into);

  private:
    struct Barrier {
        std::uint32_t threads = 0;  ///< 0: nobody has come
        std::uint32_t arrived = 0;  ///< the sum of by_warp_
        std::uint32_t votes = 0;
        jit::BarrierKind kind{};  ///< plain also for those that only arrive
        bool whole_block = false;
        std::vector<Runner*> waiting;
    };
    void forget();
    void use(std::uint32_t block_threads);
    void count(std::uint32_t number, std::uint32_t warp, const WarpOperations& warps);
    [[nodiscard]] Complete complete_barrier(std::uint32_t number) const;
    [[nodiscard]] std::span<std::uint16_t> arrivals(std::uint32_t number) {
        return std::span(arrivals_).subspan(std::size_t{number} * lanes_, lanes_);
    }
    [[nodiscard]] std::span<std::uint32_t> by_warp(std::uint32_t number) {
        return std::span(by_warp_).subspan(std::size_t{number} * (lanes_ / jit::warp_size),
                                           lanes_ / jit::warp_size);
    }
    void release(std::uint32_t number);

    std::array<Barrier, jit::barriers_per_block> barriers_;
    std::vector<std::uint16_t> arrivals_;  ///< by barrier and lane
    std::vector<std::uint32_t> by_warp_;   ///< by barrier and warp
    std::vector<Runner*> free_;
    std::uint32_t lanes_ = 0;  ///< of all warps of the block
    std::uint32_t threads_ = 0;
    std::uint32_t waiting_count_ = 0;
};

}  // namespace cudasim::execution
