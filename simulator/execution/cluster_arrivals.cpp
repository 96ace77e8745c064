// See cluster_arrivals.h.
#include "simulator/execution/cluster_arrivals.h"

namespace cudasim::execution {

void ClusterArrivals::forget() {
    states_.clear();
    waiting_.clear();
    arrived_ = ended_ = 0;
}

ClusterArrivals::Misuse ClusterArrivals::come(Runner* runner, std::uint32_t block_threads) {
    if (!in_use()) {
        states_.assign(block_threads, State::none);
        waiting_.reserve(block_threads);
    }
    State& state = states_[runner->thread];
    if (runner->named.kind == jit::BarrierKind::cluster_arrive) {
        if (state != State::none) return Misuse::arrives_again;
        state = State::arrived;
        ++arrived_;
        return Misuse::none;
    }
    if (state == State::none) return Misuse::waits_first;
    if (state == State::arrived)
        waiting_.push_back(runner);
    else
        state = State::none;
    return Misuse::none;
}

void ClusterArrivals::threads_ended(std::uint32_t first, std::uint32_t last) {
    if (!in_use()) return;
    for (std::uint32_t thread = first; thread < last; ++thread) {
        if (states_[thread] == State::arrived) {
            --arrived_;
            ++ended_;
        }
        states_[thread] = State::none;
    }
}

void ClusterArrivals::complete(std::vector<Runner*>& free) {
    for (State& state : states_)
        if (state == State::arrived) state = State::passes;
    for (Runner* runner : waiting_) {
        states_[runner->thread] = State::none;
        runner->named.result = 0;
        free.push_back(runner);
    }
    waiting_.clear();
    arrived_ = ended_ = 0;
}

}  // namespace cudasim::execution
