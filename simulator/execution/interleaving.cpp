// See interleaving.h.
#include "simulator/execution/interleaving.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "simulator/jit/abi.h"

namespace cudasim::execution {

namespace {

/// Accesses of a thread between two barriers after which it keeps its turn.
constexpr std::uint32_t most_accesses = 1 << 11;
/// Lockstep: after so many choices that left lanes out, all of the warp go on once. Lanes that wait for
/// others in a loop would keep them from the lock that they hold.
constexpr std::uint32_t most_left_out = 64;
/// Rounds for which delayed threads wait for others.
constexpr std::uint32_t delay_pct = 64, delay_starve = 2'000;
constexpr std::uint64_t most_bits_of_delay = 5;
/// Where all others have spun for so many rounds, they may wait for those that are delayed.
constexpr std::uint32_t most_idle_rounds = 8;
/// Change points lie below 2^these accesses.
constexpr std::uint64_t most_bits_of_change = 10;

/// One of the first few accesses, as most bugs are about, or one of which all magnitudes are as likely.
std::uint64_t some_access(RandomNumbers& random) {
    constexpr std::uint64_t few = 4;
    if (random.next() % 2 == 0) return random.next() % few;
    const std::uint64_t bits = random.next() % (most_bits_of_change + 1);
    return random.next() & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

void Interleaving::start(const LaunchOptions& options, std::uint64_t block, std::uint64_t blocks,
                         std::uint32_t threads) {
    active_ = options.interleaves();
    if (!active_) return;
    policy_ = options.policy;
    moved_ = false;
    accesses_ = 0;
    threads_.assign(threads, {});
    left_out_.assign((threads + jit::warp_size - 1) / jit::warp_size, 0);
    change_at_.clear();
    RandomNumbers whole(RandomNumbers(options.seed).next());
    random_ = RandomNumbers(whole.next() ^ RandomNumbers(block).next());
    chance_ = static_cast<std::uint64_t>(std::min(options.preemption, 1.0) * 0x1p32);
    if (policy_ == Policy::pct) {
        for (unsigned i = 1; i < options.pct_depth; ++i) change_at_.push_back(some_access(random_));
    } else if (policy_ == Policy::starve) {
        const bool whole_block = blocks > 1 && whole.next() % 2 != 0;
        starved_ = whole_block ? jit::all_threads : static_cast<std::uint32_t>(random_.next() % threads);
        if (!whole_block || whole.next() % blocks == block) change_at_.push_back(some_access(random_));
    }
}

void Interleaving::phase_begins() {
    for (ThreadState& each : threads_) each.accesses = 0;
}

bool Interleaving::loses_turn(std::uint32_t thread) {
    ThreadState& state = threads_[thread];
    switch (policy_) {
        case Policy::lockstep:
            return true;
        case Policy::preempt:
            if ((random_.next() >> 32) >= chance_) return false;
            state.delay = std::uint32_t{1} << random_.next() % (most_bits_of_delay + 1);
            return true;
        case Policy::pct: {
            const auto change = std::ranges::find(change_at_, accesses_++);
            if (change == change_at_.end()) return false;
            *change = std::numeric_limits<std::uint64_t>::max();
            state.delay = delay_pct;
            return true;
        }
        case Policy::starve:
            if (change_at_.empty() || (starved_ != jit::all_threads && starved_ != thread)) return false;
            if (accesses_++ < change_at_.front()) return false;
            if (starved_ != jit::all_threads) change_at_.clear();
            state.delay = delay_starve;
            return true;
        default:
            return false;
    }
}

bool Interleaving::gives_turn(std::uint32_t thread, std::uint32_t site) {
    ThreadState& state = threads_[thread];
    if (state.accesses >= most_accesses) return false;
    ++state.accesses;
    if (!loses_turn(thread)) return false;
    state.site = site + 1;
    moved_ = true;
    return true;
}

/// choose_lanes() lets all lanes of a warp go on after most_left_out rounds without some of them.
std::uint32_t Interleaving::period() const {
    return active_ && policy_ == Policy::lockstep ? most_left_out + 1 : 1;
}

bool Interleaving::any_at_access(const std::vector<Runner*>& threads) const {
    return active_ && std::ranges::any_of(
                          threads, [&](const Runner* runner) { return threads_[runner->thread].site != 0; });
}

void Interleaving::choose(std::vector<Runner*>& ready, std::vector<Runner*>& later, bool others_can,
                          std::uint32_t idle_rounds) {
    if (policy_ == Policy::lockstep)
        choose_lanes(ready, later);
    else
        choose_undelayed(ready, later, others_can, idle_rounds);
    for (const Runner* runner : ready) threads_[runner->thread].site = 0;
}

void Interleaving::choose_undelayed(std::vector<Runner*>& ready, std::vector<Runner*>& later, bool others_can,
                                    std::uint32_t idle_rounds) {
    const auto is_delayed = [&](const Runner* runner) { return threads_[runner->thread].delay != 0; };
    if (std::ranges::none_of(ready, is_delayed)) return;
    const bool alone = std::ranges::all_of(ready, is_delayed) && !others_can;
    if (alone || idle_rounds >= most_idle_rounds) {
        for (const Runner* runner : ready) threads_[runner->thread].delay = 0;
        if (policy_ == Policy::starve) change_at_.clear();
        return;
    }
    const auto delayed = std::stable_partition(ready.begin(), ready.end(), std::not_fn(is_delayed));
    for (auto each = delayed; each != ready.end(); ++each) --threads_[(*each)->thread].delay;
    later.insert(later.end(), delayed, ready.end());
    ready.erase(delayed, ready.end());
    // Whoever only waits for its time to pass does not spin.
    moved_ = moved_ || ready.empty();
}

void Interleaving::choose_lanes(std::vector<Runner*>& ready, std::vector<Runner*>& later) {
    std::vector<std::uint32_t> first(left_out_.size(), std::numeric_limits<std::uint32_t>::max());
    const auto warp_of = [](const Runner* runner) { return runner->thread / jit::warp_size; };
    for (const Runner* runner : ready)
        first[warp_of(runner)] = std::min(first[warp_of(runner)], threads_[runner->thread].site);
    std::vector<bool> all(left_out_.size());
    for (std::size_t warp = 0; warp < all.size(); ++warp) {
        all[warp] = left_out_[warp] >= most_left_out;
        if (all[warp]) left_out_[warp] = 0;
    }
    std::vector<bool> leaves_out(left_out_.size());
    const auto waits = std::stable_partition(ready.begin(), ready.end(), [&](const Runner* runner) {
        const std::uint32_t warp = warp_of(runner);
        const bool goes_on = all[warp] || threads_[runner->thread].site == first[warp];
        if (!goes_on) leaves_out[warp] = true;
        return goes_on;
    });
    for (std::size_t warp = 0; warp < all.size(); ++warp)
        if (leaves_out[warp]) ++left_out_[warp];
    later.insert(later.end(), waits, ready.end());
    ready.erase(waits, ready.end());
}

}  // namespace cudasim::execution
