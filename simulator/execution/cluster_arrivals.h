// One block's part in the barrier of its cluster (PTX ISA, "barrier.cluster").
//
//   barrier.cluster.arrive   counts, and the thread goes on
//   barrier.cluster.wait     waits until all threads of the cluster that have not ended have arrived
//
// A thread arrives once, waits, and arrives again: in every phase of the barrier once. When a phase is over,
// threads that wait are *free*, and those that have arrived and not come to their wait yet pass it.
//
// Nothing is kept for a block none of whose threads has come to the barrier. Runs on the worker's own stack.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/execution/runner.h"

namespace cudasim::execution {

class ClusterArrivals {
  public:
    enum class Misuse : std::uint8_t {
        none,
        arrives_again,  ///< it has not waited since it arrived
        waits_first     ///< it has not arrived since it waited
    };

    /// Forgets everything.
    void forget();
    [[nodiscard]] bool in_use() const { return !states_.empty(); }
    /// The runner's thread has come to what runner->named says.
    /// @param block_threads how many threads the block has
    Misuse come(Runner* runner, std::uint32_t block_threads);
    /// Threads [first, last) have ended.
    void threads_ended(std::uint32_t first, std::uint32_t last);
    /// The phase is over: those that wait are moved to the end of the list.
    void complete(std::vector<Runner*>& free);

    /// Threads that have arrived in this phase and have not ended.
    [[nodiscard]] std::uint32_t arrived() const { return arrived_; }
    /// The same for those that have ended since.
    [[nodiscard]] std::uint32_t arrived_and_ended() const { return ended_; }
    [[nodiscard]] bool has_arrived(std::uint32_t thread) const {
        return in_use() && states_[thread] == State::arrived;
    }
    [[nodiscard]] const std::vector<Runner*>& waiting() const { return waiting_; }
    [[nodiscard]] std::vector<Runner*> take_waiting() { return std::exchange(waiting_, {}); }

  private:
    /// Of a thread, since its last wait. `passes`: it has arrived, and the phase is over.
    enum class State : std::uint8_t { none, arrived, passes };

    std::vector<State> states_;  ///< by thread of the block
    std::vector<Runner*> waiting_;
    std::uint32_t arrived_ = 0, ended_ = 0;
};

}  // namespace cudasim::execution
