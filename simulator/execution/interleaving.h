// Where threads of a block take turns between their accesses to memory: policies lockstep, preempt, pct and
// starve (E6). Code for them calls hook `turn` in front of each access that other threads can see; the hook
// asks gives_turn(), and the scheduler, before it lets threads go on, asks choose().
//
//   lockstep   a thread gives up its turn at every access, and of each warp those lanes go on that are at the
//              first place in the code: lanes on one path complete an access each before one of them makes
//              the next, and diverged lanes meet where their paths do
//   preempt    it does with a probability, for some rounds in which others go on
//   pct        threads run in a random order to their next wait, but for depth - 1 accesses in each block:
//              the thread that comes to one is behind all others from there (Burckhardt et al., "A Randomized
//              Scheduler with Probabilistic Guarantees of Finding Bugs", 2010)
//   starve     one thread of each block, or all of one block, stops at some access until nobody else can go
//              on
//
// All that is random comes from the seed and the block.
//
// A thread that makes many accesses without coming to a barrier no longer gives up its turn: then spinning is
// seen as it is elsewhere, and a livelock can be proven.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/execution/device.h"
#include "simulator/execution/random_order.h"
#include "simulator/execution/runner.h"

namespace cudasim::execution {

class Interleaving {
  public:
    /// Of a block, before its threads run.
    void start(const LaunchOptions& options, std::uint64_t block, std::uint64_t blocks,
               std::uint32_t threads);
    [[nodiscard]] bool active() const { return active_; }
    /// The threads have passed a barrier.
    void phase_begins();

    /// Whether a thread that is about to access memory lets others go on.
    /// @param site orders places of the code
    [[nodiscard]] bool gives_turn(std::uint32_t thread, std::uint32_t site);
    /// Moves those that are not to go on now from `ready` to `later`.
    /// @param others_can threads of other blocks can go on
    /// @param idle_rounds for how many rounds the block's threads have only spun
    void choose(std::vector<Runner*>& ready, std::vector<Runner*>& later, bool others_can,
                std::uint32_t idle_rounds);
    /// Whether a thread has given up its turn at an access since the last call: it did not spin.
    [[nodiscard]] bool has_moved() { return std::exchange(moved_, false); }
    /// Whether one of the threads has given up its turn at an access and has not gone on since.
    [[nodiscard]] bool any_at_access(const std::vector<Runner*>& threads) const;

    // For proofs of livelocks: threads that it does not let go on are not spinning.
    /// After how many rounds in which nothing changes choose() may choose as it did.
    [[nodiscard]] std::uint32_t period() const;
    /// Calls add(address, bytes) for all that its choices depend on.
    template <typename Add>
    void visit_state(Add&& add) const {
        add(threads_.data(), threads_.size() * sizeof(ThreadState));
        add(change_at_.data(), change_at_.size() * sizeof(std::uint64_t));
        add(left_out_.data(), left_out_.size() * sizeof(std::uint32_t));
        add(&random_, sizeof random_);
        add(&accesses_, sizeof accesses_);
    }

  private:
    struct ThreadState {
        std::uint32_t accesses = 0;  ///< since the last barrier
        std::uint32_t site = 0;      ///< of the access that it is about to make; 0: it is at none
        std::uint32_t delay = 0;     ///< rounds for which it is behind all others; 0: it is not
    };

    [[nodiscard]] bool loses_turn(std::uint32_t thread);
    void choose_lanes(std::vector<Runner*>& ready, std::vector<Runner*>& later);
    void choose_undelayed(std::vector<Runner*>& ready, std::vector<Runner*>& later, bool others_can,
                          std::uint32_t idle_rounds);

    bool active_ = false, moved_ = false;
    Policy policy_ = Policy::forward;
    std::uint64_t chance_ = 0;  ///< of 2^32, that a thread is preempted
    RandomNumbers random_{0};
    std::vector<ThreadState> threads_;
    std::uint64_t accesses_ = 0;            ///< of the block
    std::vector<std::uint64_t> change_at_;  ///< pct: such accesses of the block; starve: one of the thread
    std::uint32_t starved_ = 0;             ///< the thread; all_threads
    std::vector<std::uint32_t> left_out_;   ///< lockstep, by warp: choices in which lanes were left out
};

}  // namespace cudasim::execution
