// See warp_exchange.h.
#include "simulator/execution/warp_exchange.h"

#include <algorithm>
#include <array>

#include "simulator/memory/arena.h"

namespace cudasim::execution {

using jit::LaneOperation;
using jit::WarpKind;

namespace {

/// The value of a lane outside of the operation. PTX leaves it undefined, so it is recognisable (V3).
constexpr std::uint32_t no_value = std::uint32_t{memory::poison_pattern} << 16 | memory::poison_pattern;

/// What a shuffle gives above its word and the predicate travels with the word: compiled code may say there
/// which bits of it were never written. Of a lane outside of the operation nobody has written any.
constexpr std::uint64_t no_shuffled_value = ~std::uint64_t{0} << 32 & ~jit::warp_predicate | no_value;

std::uint64_t with_predicate(std::uint64_t word, bool predicate) {
    return word | (predicate ? jit::warp_predicate : 0);
}

struct Source {
    std::uint32_t lane;
    bool in_range;
};

/// PTX ISA, shfl.sync: the source lane from operands b and c.
template <WarpKind kind>
Source shuffle_source(std::uint32_t lane, std::uint32_t operand) {
    const std::uint32_t b = operand & 0x1F, c = operand >> jit::shuffle_clamp_shift;
    const std::uint32_t clamp = c & 0x1F, segment = c >> 8 & 0x1F;
    const std::uint32_t first = lane & segment, last = first | (clamp & ~segment);
    const std::uint32_t source = kind == WarpKind::shuffle_up     ? lane - b
                                 : kind == WarpKind::shuffle_down ? lane + b
                                 : kind == WarpKind::shuffle_xor  ? lane ^ b
                                                                  : first | (b & ~segment);
    const bool in_range = kind == WarpKind::shuffle_up
                              ? static_cast<std::int32_t>(source) >= static_cast<std::int32_t>(last)
                              : source <= last;
    return {in_range ? source : lane, in_range};
}

template <WarpKind kind>
void shuffle(LaneOperation* lanes, std::uint32_t present) {
    std::array<std::uint64_t, jit::warp_size> results;
    for_each_lane(present, [&](std::uint32_t lane) {
        const Source source = shuffle_source<kind>(lane, lanes[lane].operand);
        const bool takes_part = (present >> source.lane & 1) != 0;
        results[lane] =
            with_predicate(takes_part ? lanes[source.lane].value & ~jit::warp_predicate : no_shuffled_value,
                           source.in_range);
    });
    for_each_lane(present, [&](std::uint32_t lane) { lanes[lane].value = results[lane]; });
}

void set_all(LaneOperation* lanes, std::uint32_t present, std::uint64_t result) {
    for_each_lane(present, [&](std::uint32_t lane) { lanes[lane].value = result; });
}

void match(LaneOperation* lanes, std::uint32_t present, bool all) {
    std::array<std::uint64_t, jit::warp_size> results;
    for_each_lane(present, [&](std::uint32_t lane) {
        const std::uint32_t equal = lanes_where(
            present, [&](std::uint32_t other) { return lanes[other].value == lanes[lane].value; });
        results[lane] = !all ? equal : equal == present ? with_predicate(present, true) : 0;
    });
    for_each_lane(present, [&](std::uint32_t lane) { lanes[lane].value = results[lane]; });
}

std::uint32_t reduced(jit::Reduction how, std::uint32_t x, std::uint32_t y) {
    const auto is_less = [](std::uint32_t a, std::uint32_t b) {
        return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
    };
    switch (how) {
        case jit::Reduction::add:
            return x + y;
        case jit::Reduction::signed_minimum:
            return is_less(y, x) ? y : x;
        case jit::Reduction::signed_maximum:
            return is_less(x, y) ? y : x;
        case jit::Reduction::unsigned_minimum:
            return std::min(x, y);
        case jit::Reduction::unsigned_maximum:
            return std::max(x, y);
        case jit::Reduction::bitwise_and:
            return x & y;
        case jit::Reduction::bitwise_or:
            return x | y;
        case jit::Reduction::bitwise_xor:
            return x ^ y;
    }
    return x;
}

void reduce(LaneOperation* lanes, std::uint32_t present) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(present));
    const auto how = static_cast<jit::Reduction>(lanes[first].operand);
    auto result = static_cast<std::uint32_t>(lanes[first].value);
    for_each_lane(present & (present - 1), [&](std::uint32_t lane) {
        result = reduced(how, result, static_cast<std::uint32_t>(lanes[lane].value));
    });
    set_all(lanes, present, result);
}

}  // namespace

void exchange(WarpKind kind, LaneOperation* lanes, std::uint32_t present) {
    const auto votes = [&] {
        return lanes_where(present, [&](std::uint32_t lane) { return lanes[lane].value != 0; });
    };
    const auto vote = [&](bool result) { set_all(lanes, present, with_predicate(0, result)); };
    switch (kind) {
        case WarpKind::sync:
            return;
        case WarpKind::active:
            return set_all(lanes, present, present);
        case WarpKind::all:
            return vote(votes() == present);
        case WarpKind::any:
            return vote(votes() != 0);
        case WarpKind::uniform:
            return vote(votes() == present || votes() == 0);
        case WarpKind::ballot:
            return set_all(lanes, present, votes());
        case WarpKind::match_any:
            return match(lanes, present, false);
        case WarpKind::match_all:
            return match(lanes, present, true);
        case WarpKind::reduce:
            return reduce(lanes, present);
        case WarpKind::shuffle_index:
            return shuffle<WarpKind::shuffle_index>(lanes, present);
        case WarpKind::shuffle_up:
            return shuffle<WarpKind::shuffle_up>(lanes, present);
        case WarpKind::shuffle_down:
            return shuffle<WarpKind::shuffle_down>(lanes, present);
        case WarpKind::shuffle_xor:
            return shuffle<WarpKind::shuffle_xor>(lanes, present);
    }
}

}  // namespace cudasim::execution
