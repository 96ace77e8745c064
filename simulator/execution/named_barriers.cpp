// See named_barriers.h.
#include "simulator/execution/named_barriers.h"

#include <algorithm>
#include <iterator>

namespace cudasim::execution {

using jit::BarrierKind;

namespace {

bool votes(BarrierKind kind) {
    return kind == BarrierKind::count || kind == BarrierKind::all || kind == BarrierKind::any;
}

}  // namespace

void NamedBarriers::forget() {
    for (Barrier& barrier : barriers_) barrier = {};
    arrivals_.clear();
    by_warp_.clear();
    free_.clear();
    waiting_count_ = 0;
    cluster_.forget();
}

void NamedBarriers::use(std::uint32_t block_threads) {
    const std::uint32_t warps = (block_threads + jit::warp_size - 1) / jit::warp_size;
    threads_ = block_threads;
    lanes_ = warps * jit::warp_size;
    by_warp_.assign(std::size_t{jit::barriers_per_block} * warps, 0);
    arrivals_.assign(std::size_t{jit::barriers_per_block} * lanes_, 0);
}

NamedBarriers::Misuse NamedBarriers::arrive(Runner* runner, const WarpOperations& warps,
                                            std::uint32_t block_threads) {
    const auto& named = runner->named;
    if (named.number >= jit::barriers_per_block) return Misuse::number;
    const bool whole_block = named.threads == jit::all_threads;
    if (!whole_block && (named.threads == 0 || named.threads % jit::warp_size != 0)) return Misuse::threads;
    if (arrivals_.empty()) use(block_threads);
    Barrier& barrier = barriers_[named.number];
    const std::uint32_t threads = whole_block ? lanes_ : named.threads;
    const BarrierKind kind = votes(named.kind) ? named.kind : BarrierKind::plain;
    if (barrier.threads != 0 && barrier.threads != threads) return Misuse::other_threads;
    if (barrier.threads != 0 && barrier.kind != kind) return Misuse::other_kind;
    if (named.kind != BarrierKind::arrive) {
        barrier.waiting.push_back(runner);
        ++waiting_count_;
    }
    const bool counts_ended = whole_block && !barrier.whole_block;
    barrier.threads = threads;
    barrier.kind = kind;
    barrier.whole_block |= whole_block;
    ++arrivals(named.number)[runner->thread];
    if (counts_ended) {
        for (std::uint32_t warp = 0; warp < lanes_ / jit::warp_size; ++warp) count(named.number, warp, warps);
    } else {
        count(named.number, runner->thread / jit::warp_size, warps);
    }
    return Misuse::none;
}

/// How many threads the warp counts as: all 32 for each time that all its lanes
/// that have not ended have come.
void NamedBarriers::count(std::uint32_t number, std::uint32_t warp, const WarpOperations& warps) {
    Barrier& barrier = barriers_[number];
    const auto lanes = arrivals(number).subspan(std::size_t{warp} * jit::warp_size, jit::warp_size);
    const std::uint32_t over = warps.lanes_over(warp);
    std::uint32_t least = ~std::uint32_t{0}, most = 0;
    for (std::uint32_t lane = 0; lane < jit::warp_size; ++lane) {
        most = std::max<std::uint32_t>(most, lanes[lane]);
        if ((over >> lane & 1) == 0) least = std::min<std::uint32_t>(least, lanes[lane]);
    }
    const bool all_over = over == ~std::uint32_t{0};
    const std::uint32_t rounds = !all_over             ? least
                                 : barrier.whole_block ? std::max(most, std::uint32_t{1})
                                                       : most;
    std::uint32_t& counted = by_warp(number)[warp];
    barrier.arrived += rounds * jit::warp_size - counted;
    counted = rounds * jit::warp_size;
}

void NamedBarriers::threads_ended(std::uint32_t first, std::uint32_t last, const WarpOperations& warps) {
    if (first == last) return;
    cluster_.threads_ended(first, last);
    for (std::uint32_t number = 0; number < barriers_.size(); ++number) {
        if (barriers_[number].threads == 0) continue;
        for (std::uint32_t warp = first / jit::warp_size; warp <= (last - 1) / jit::warp_size; ++warp)
            count(number, warp, warps);
    }
}

NamedBarriers::Complete NamedBarriers::complete_barrier(std::uint32_t number) {
    Barrier& barrier = barriers_[number];
    const auto came_as_a_whole = [&](std::uint32_t thread) {
        return by_warp(number)[thread / jit::warp_size] != 0;
    };
    const auto stay = std::ranges::stable_partition(barrier.waiting, came_as_a_whole, &Runner::thread);
    const auto all = arrivals(number);
    complete_arrivals_.assign(all.begin(), all.begin() + threads_);
    for (std::uint32_t thread = 0; thread < threads_; ++thread)
        if (!came_as_a_whole(thread)) complete_arrivals_[thread] = 0;
    const auto missing = barrier.whole_block ? std::ranges::count(complete_arrivals_, 0) : 0;
    return {number, barrier.threads, complete_arrivals_,
            std::span(barrier.waiting).first(barrier.waiting.size() - stay.size()),
            static_cast<std::uint32_t>(missing)};
}

void NamedBarriers::release(const Complete& complete) {
    Barrier& barrier = barriers_[complete.number];
    std::uint32_t came = 0, votes = 0;
    for (const std::uint16_t count : complete.arrivals) came += count;
    for (const Runner* runner : complete.waiting) votes += runner->named.value ? 1 : 0;
    for (Runner* runner : complete.waiting) {
        auto& named = runner->named;
        switch (named.kind) {
            case BarrierKind::count:
                named.result = static_cast<std::int32_t>(votes);
                break;
            case BarrierKind::all:
                named.result = votes == came;
                break;
            case BarrierKind::any:
                named.result = votes != 0;
                break;
            default:
                named.result = 0;
        }
        free_.push_back(runner);
    }
    waiting_count_ -= static_cast<std::uint32_t>(complete.waiting.size());
    barrier.waiting.erase(barrier.waiting.begin(),
                          barrier.waiting.begin() + static_cast<std::ptrdiff_t>(complete.waiting.size()));
    const auto lanes = arrivals(complete.number);
    for (std::uint32_t thread = 0; thread < threads_; ++thread) lanes[thread] -= complete.arrivals[thread];
    std::ranges::fill(by_warp(complete.number), 0U);
    barrier.arrived = 0;
    if (!barrier.waiting.empty() ||
        std::ranges::any_of(lanes, [](std::uint16_t count) { return count != 0; }))
        return;
    barrier.threads = 0;
    barrier.whole_block = false;
}

NamedBarriers::Progress NamedBarriers::progress(std::uint32_t number) const {
    const Barrier& barrier = barriers_[number];
    Progress progress{.arrived = barrier.arrived, .threads = barrier.threads};
    for (const Runner* runner : barrier.waiting)
        if (by_warp_[std::size_t{number} * (lanes_ / jit::warp_size) + runner->thread / jit::warp_size] == 0)
            ++progress.in_part;
    return progress;
}

void NamedBarriers::take_free(std::vector<Runner*>& into) {
    into.insert(into.end(), free_.begin(), free_.end());
    free_.clear();
}

void NamedBarriers::take(Runner* runner) {
    free_.erase(std::ranges::find(free_, runner));
}

std::vector<Runner*> NamedBarriers::waiting() const {
    std::vector<Runner*> result = cluster_.waiting();
    if (waiting_count() == 0) return result;
    for (const Barrier& barrier : barriers_)
        result.insert(result.end(), barrier.waiting.begin(), barrier.waiting.end());
    std::ranges::sort(result, {}, [](const Runner* runner) { return runner->thread; });
    return result;
}

bool NamedBarriers::holds(const Runner* runner) const {
    const auto in = [&](const std::vector<Runner*>& list) {
        return std::ranges::find(list, runner) != list.end();
    };
    return in(free_) || in(cluster_.waiting()) ||
           std::ranges::any_of(barriers_, [&](const Barrier& each) { return in(each.waiting); });
}

void NamedBarriers::take_all(std::vector<Runner*>& into) {
    take_free(into);
    std::ranges::copy(cluster_.take_waiting(), std::back_inserter(into));
    for (Barrier& barrier : barriers_) {
        into.insert(into.end(), barrier.waiting.begin(), barrier.waiting.end());
        barrier.waiting.clear();
    }
    waiting_count_ = 0;
}

}  // namespace cudasim::execution
