// The order in which the threads of a block get their turn (E6), the same whatever carries them
// (E1): warp after warp, and lane after lane within each. Under the random policy both are
// permutations that a seed decides.
//
//   pass     the lanes of a warp that can go on get their turn, one after another, each to its next wait or
//            its end
//   warp     passes until no lane of it can go on: all are at a barrier, over, or wait for lanes that spin
//   phase    every warp; then the block's barrier is complete, and the next phase begins
//
// Where no thread waits there is one pass and one phase, and a loop over the
// threads in this order is all of it.
#pragma once

#include <cstdint>

#include "simulator/execution/device.h"
#include "simulator/execution/random_order.h"
#include "simulator/jit/abi.h"

namespace cudasim::execution {

class ThreadOrder {
  public:
    ThreadOrder() = default;
    /// The order of one phase. @param policy forward, reverse or random (LaunchOptions::order())
    /// @param seed of the random one
    ThreadOrder(Policy policy, std::uint32_t threads, std::uint64_t seed)
        : policy_(policy), threads_(threads), seed_(seed) {
        if (policy != Policy::random) return;
        const std::uint32_t warps = (threads + jit::warp_size - 1) / jit::warp_size;
        warps_ = RandomOrder(seed, warps);
        rest_ = threads % jit::warp_size;
        while (rest_ != 0 && warps_(partial_) != warps - 1) ++partial_;
    }

    /// The thread whose turn it is. @param turn below the number of threads
    [[nodiscard]] std::uint32_t thread(std::uint32_t turn) const {
        switch (policy_) {
            case Policy::forward:
                break;
            case Policy::reverse:
                return threads_ - 1 - turn;
            default:
                return random_thread(turn);
        }
        return turn;
    }
    /// The lane of a warp whose turn in a pass it is. @param turn below lanes(warp)
    [[nodiscard]] std::uint32_t lane(std::uint32_t warp, std::uint32_t turn) const {
        switch (policy_) {
            case Policy::forward:
                break;
            case Policy::reverse:
                return lanes(warp) - 1 - turn;
            default:
                return static_cast<std::uint32_t>(RandomOrder(seed_of(warp), lanes(warp))(turn));
        }
        return turn;
    }
    [[nodiscard]] std::uint32_t lanes(std::uint32_t warp) const {
        return warp == threads_ / jit::warp_size ? threads_ % jit::warp_size : jit::warp_size;
    }

  private:
    /// The last warp may have fewer lanes, and its turn come in between.
    [[nodiscard]] std::uint32_t random_thread(std::uint32_t turn) const {
        if (rest_ != 0 && turn >= partial_ * jit::warp_size + rest_) turn += jit::warp_size - rest_;
        const auto warp = static_cast<std::uint32_t>(warps_(turn / jit::warp_size));
        return warp * jit::warp_size + lane(warp, turn % jit::warp_size);
    }
    [[nodiscard]] std::uint64_t seed_of(std::uint32_t warp) const {
        return RandomNumbers(seed_ ^ (std::uint64_t{warp} + 1)).next();
    }

    Policy policy_ = Policy::forward;
    std::uint32_t threads_ = 0;
    std::uint64_t seed_ = 0;
    RandomOrder warps_;
    std::uint32_t rest_ = 0;     ///< lanes of the last warp, when it is not full
    std::uint32_t partial_ = 0;  ///< its turn among the warps
};

}  // namespace cudasim::execution
