// Who has come to a warp operation, and what each lane gets from it.
#include "simulator/execution/warp_operations.h"

#include <algorithm>
#include <bit>

#include "simulator/memory/arena.h"

namespace cudasim::execution {

using jit::WarpKind;

namespace {

/// Of a lane outside of the operation: PTX leaves it open, so it is recognisable (V3).
constexpr std::uint32_t no_value = memory::poison_pattern << 16 | memory::poison_pattern;

std::uint32_t bit(std::uint32_t lane) { return std::uint32_t{1} << lane; }

/// Calls visit(lane) for each bit that is set.
template <typename Visit>
void for_each_lane(std::uint32_t lanes, Visit&& visit) {
    for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

struct Source {
    std::uint32_t lane;
    bool in_range;
};

/// PTX ISA, shfl.sync: the source lane from operands b and c.
Source shuffle_source(WarpKind kind, std::uint32_t lane, std::uint32_t operand) {
    const std::uint32_t b = operand & 0x1F, c = operand >> jit::shuffle_clamp_shift;
    const std::uint32_t clamp = c & 0x1F, segment = c >> 8 & 0x1F;
    const std::uint32_t first = lane & segment, last = first | (clamp & ~segment);
    std::uint32_t source = 0;
    bool in_range = false;
    switch (kind) {
        case WarpKind::shuffle_up:
            source = lane - b;
            in_range = static_cast<std::int32_t>(source) >= static_cast<std::int32_t>(last);
            break;
        case WarpKind::shuffle_down:
            source = lane + b;
            in_range = source <= last;
            break;
        case WarpKind::shuffle_xor:
            source = lane ^ b;
            in_range = source <= last;
            break;
        default:
            source = first | (b & ~segment);
            in_range = source <= last;
            break;
    }
    return {in_range ? source : lane, in_range};
}

std::uint64_t with_predicate(std::uint32_t word, bool predicate) { return word | (predicate ? jit::warp_predicate : 0); }

using Lanes = std::array<Runner*, jit::warp_size>;

std::uint32_t lanes_where(std::uint32_t lanes, auto&& holds) {
    std::uint32_t result = 0;
    for_each_lane(lanes, [&](std::uint32_t lane) { result |= holds(lane) ? bit(lane) : 0; });
    return result;
}

/// What `lane` gets when `present` take part.
std::uint64_t result_of(const Lanes& lanes, std::uint32_t present, std::uint32_t lane) {
    const auto& own = lanes[lane]->warp;
    const auto votes = [&] { return lanes_where(present, [&](std::uint32_t other) { return lanes[other]->warp.value != 0; }); };
    const auto equals = [&] {
        return lanes_where(present, [&](std::uint32_t other) { return lanes[other]->warp.value == own.value; });
    };
    switch (own.kind) {
        case WarpKind::sync: return 0;
        case WarpKind::active: return present;
        case WarpKind::all: return with_predicate(0, votes() == present);
        case WarpKind::any: return with_predicate(0, votes() != 0);
        case WarpKind::uniform: return with_predicate(0, votes() == present || votes() == 0);
        case WarpKind::ballot: return votes();
        case WarpKind::match_any: return equals();
        case WarpKind::match_all: return equals() == present ? with_predicate(present, true) : 0;
        default: break;
    }
    const Source source = shuffle_source(own.kind, lane, own.operand);
    const bool takes_part = (present & bit(source.lane)) != 0;
    return with_predicate(takes_part ? static_cast<std::uint32_t>(lanes[source.lane]->warp.value) : no_value, source.in_range);
}

}  // namespace

void WarpOperations::start(std::uint32_t threads, bool tracks) {
    tracks_ = tracks;
    waiting_count_ = 0;
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

std::uint32_t WarpOperations::missing_lanes(const Runner& runner) const {
    const Warp& warp = warps_[runner.thread / jit::warp_size];
    return runner.warp.mask & ~warp.over & ~companions(warp, runner);
}

void WarpOperations::release(Warp& warp, std::uint32_t lanes, std::vector<Runner*>& ready) {
    for_each_lane(lanes, [&](std::uint32_t lane) {
        warp.lanes[lane]->warp.result = result_of(warp.lanes, lanes, lane);
        ready.push_back(warp.lanes[lane]);
    });
    warp.waiting &= ~lanes;
    waiting_count_ -= static_cast<std::uint32_t>(std::popcount(lanes));
}

void WarpOperations::complete_where_possible(Warp& warp, std::vector<Runner*>& ready) {
    for (std::uint32_t left = warp.waiting; left != 0;) {
        const Runner& runner = *warp.lanes[static_cast<std::uint32_t>(std::countr_zero(left))];
        const std::uint32_t here = companions(warp, runner);
        left &= left - 1;
        if (runner.warp.kind == WarpKind::active || (runner.warp.mask & ~warp.over & ~here) != 0) continue;
        left &= ~here;
        release(warp, here, ready);
    }
}

/// Every lane that the runner waits for is in some operation: in this one?
void WarpOperations::all_have_come(Warp& warp, const Runner& runner, std::vector<Runner*>& ready) {
    if (runner.warp.kind == WarpKind::active) return;
    const std::uint32_t here = warp.uniform ? warp.waiting & warp.mask : companions(warp, runner);
    if ((runner.warp.mask & ~warp.over & ~here) == 0) release(warp, here, ready);
}

void WarpOperations::end(std::uint32_t first, std::uint32_t last, std::vector<Runner*>& ready) {
    while (first < last) {
        Warp& warp = warps_[first / jit::warp_size];
        const std::uint32_t lane = first % jit::warp_size;
        const std::uint32_t count = std::min(last - first, jit::warp_size - lane);
        warp.over |= (count == jit::warp_size ? ~std::uint32_t{0} : bit(count) - 1) << lane;
        if (warp.waiting != 0) complete_where_possible(warp, ready);
        first += count;
    }
}

bool WarpOperations::answer_active(std::vector<Runner*>& ready) {
    if (waiting_count_ == 0) return false;
    const std::size_t before = ready.size();
    for (Warp& warp : warps_) {
        std::uint32_t asking = lanes_where(warp.waiting, [&](std::uint32_t lane) { return warp.lanes[lane]->warp.kind == WarpKind::active; });
        while (asking != 0) {
            const std::uint32_t site = warp.lanes[static_cast<std::uint32_t>(std::countr_zero(asking))]->site;
            const std::uint32_t together = lanes_where(asking, [&](std::uint32_t lane) { return warp.lanes[lane]->site == site; });
            asking &= ~together;
            release(warp, together, ready);
        }
    }
    return ready.size() != before;
}

std::vector<Runner*> WarpOperations::waiting() const {
    std::vector<Runner*> result;
    if (waiting_count_ == 0) return result;
    for (const Warp& warp : warps_) for_each_lane(warp.waiting, [&](std::uint32_t lane) { result.push_back(warp.lanes[lane]); });
    return result;
}

std::vector<Runner*> WarpOperations::take_waiting() {
    std::vector<Runner*> result = waiting();
    if (waiting_count_ != 0)
        for (Warp& warp : warps_) warp.waiting = 0;
    waiting_count_ = 0;
    return result;
}

}  // namespace cudasim::execution
