// Who has come to a warp operation, and what each lane gets from it.
#include "simulator/execution/warp_operations.h"

#include <algorithm>
#include <bit>

#include "simulator/execution/warp_exchange.h"

namespace cudasim::execution {

using jit::WarpKind;

namespace {

std::uint32_t bit(std::uint32_t lane) {
    return std::uint32_t{1} << lane;
}

}  // namespace

void WarpOperations::start(std::uint32_t threads, bool tracks) {
    tracks_ = tracks;
    waiting_count_ = free_count_ = 0;
    if (!tracks) return;
    warps_.assign((threads + jit::warp_size - 1) / jit::warp_size, {});
    if (const std::uint32_t rest = threads % jit::warp_size; rest != 0) warps_.back().over = ~(bit(rest) - 1);
}

/// The lanes that have come to the runner's operation.
std::uint32_t WarpOperations::companions(const Warp& warp, const Runner& runner) const {
    return lanes_where(warp.waiting & runner.warp.mask, [&](std::uint32_t lane) {
        const auto& other = warp.lanes[lane]->warp;
        return other.kind == runner.warp.kind && other.mask == runner.warp.mask;
    });
}

std::uint32_t WarpOperations::mask_of(std::uint32_t thread) const {
    for (const Runner* runner : waiting())
        if (runner->thread == thread) return runner->warp.mask;
    return 0;
}

WaitingLane WarpOperations::first_waiting() const {
    const Runner& runner = *waiting().front();
    const Warp& warp = warps_[runner.thread / jit::warp_size];
    return {runner.thread, runner.site, runner.warp.mask,
            runner.warp.mask & ~warp.over & ~companions(warp, runner)};
}

void WarpOperations::release(Warp& warp, std::uint32_t lanes) {
    std::array<jit::LaneOperation, jit::warp_size> given;
    for_each_lane(lanes, [&](std::uint32_t lane) {
        const auto& own = warp.lanes[lane]->warp;
        given[lane] = {own.value, own.mask, own.operand};
    });
    exchange(warp.lanes[static_cast<std::uint32_t>(std::countr_zero(lanes))]->warp.kind, given.data(), lanes);
    for_each_lane(lanes, [&](std::uint32_t lane) { warp.lanes[lane]->warp.result = given[lane].value; });
    const auto count = static_cast<std::uint32_t>(std::popcount(lanes));
    warp.waiting &= ~lanes;
    waiting_count_ -= count;
    warp.free |= lanes;
    free_count_ += count;
}

/// Every lane of the runner's mask that has not ended is here.
void WarpOperations::complete(Warp& warp, const Runner& runner, std::uint32_t lanes,
                              SkippedOperations& skipped) {
    const std::uint32_t first = runner.thread / jit::warp_size * jit::warp_size;
    skipped.complete(first, runner.warp.mask, lanes, runner.warp.mask & ~lanes,
                     [&](std::uint32_t lane) { return warp.lanes[lane]->site; });
    release(warp, lanes);
}

void WarpOperations::complete_where_possible(Warp& warp, SkippedOperations& skipped) {
    for (std::uint32_t left = warp.waiting; left != 0;) {
        const Runner& runner = *warp.lanes[static_cast<std::uint32_t>(std::countr_zero(left))];
        const std::uint32_t here = companions(warp, runner);
        left &= left - 1;
        if (runner.warp.kind == WarpKind::active || (runner.warp.mask & ~warp.over & ~here) != 0) continue;
        left &= ~here;
        complete(warp, runner, here, skipped);
    }
}

/// Every lane that the runner waits for is in some operation: in this one?
void WarpOperations::all_have_come(Warp& warp, const Runner& runner, SkippedOperations& skipped) {
    if (runner.warp.kind == WarpKind::active) return;
    const std::uint32_t here = warp.uniform ? warp.waiting & warp.mask : companions(warp, runner);
    if ((runner.warp.mask & ~warp.over & ~here) == 0) complete(warp, runner, here, skipped);
}

void WarpOperations::end(std::uint32_t first, std::uint32_t last, SkippedOperations& skipped) {
    while (first < last) {
        Warp& warp = warps_[first / jit::warp_size];
        const std::uint32_t lane = first % jit::warp_size;
        const std::uint32_t count = std::min(last - first, jit::warp_size - lane);
        warp.over |= (count == jit::warp_size ? ~std::uint32_t{0} : bit(count) - 1) << lane;
        if (warp.waiting != 0) complete_where_possible(warp, skipped);
        first += count;
    }
}

bool WarpOperations::answer_active() {
    if (waiting_count_ == 0) return false;
    for (Warp& warp : warps_) {
        std::uint32_t asking = lanes_where(warp.waiting, [&](std::uint32_t lane) {
            return warp.lanes[lane]->warp.kind == WarpKind::active;
        });
        while (asking != 0) {
            const std::uint32_t site = warp.lanes[static_cast<std::uint32_t>(std::countr_zero(asking))]->site;
            const std::uint32_t together =
                lanes_where(asking, [&](std::uint32_t lane) { return warp.lanes[lane]->site == site; });
            asking &= ~together;
            release(warp, together);
        }
    }
    return any_free();
}

std::vector<Runner*> WarpOperations::waiting() const {
    std::vector<Runner*> result;
    if (waiting_count_ == 0) return result;
    for (const Warp& warp : warps_)
        for_each_lane(warp.waiting, [&](std::uint32_t lane) { result.push_back(warp.lanes[lane]); });
    return result;
}

std::vector<Runner*> WarpOperations::free() const {
    std::vector<Runner*> result;
    if (free_count_ == 0) return result;
    for (const Warp& warp : warps_)
        for_each_lane(warp.free, [&](std::uint32_t lane) { result.push_back(warp.lanes[lane]); });
    return result;
}

bool WarpOperations::holds(const Runner* runner) const {
    if (waiting_count_ + free_count_ == 0) return false;
    const Warp& warp = warps_[runner->thread / jit::warp_size];
    const std::uint32_t lane = runner->thread % jit::warp_size;
    return ((warp.waiting | warp.free) & bit(lane)) != 0 && warp.lanes[lane] == runner;
}

void WarpOperations::take_all(std::vector<Runner*>& into) {
    if (waiting_count_ + free_count_ == 0) return;
    for (Warp& warp : warps_) {
        for_each_lane(warp.waiting | warp.free,
                      [&](std::uint32_t lane) { into.push_back(warp.lanes[lane]); });
        warp.waiting = warp.free = 0;
    }
    waiting_count_ = free_count_ = 0;
}

}  // namespace cudasim::execution
