// What the lanes of a complete warp operation get from each other (PTX ISA: shfl.sync, vote.sync, match.sync,
// bar.warp.sync).
#pragma once

#include <bit>
#include <cstdint>

#include "simulator/jit/abi.h"

namespace cudasim::execution {

/// Replaces what each lane of `present` gives by what it gets. @param lanes one per lane of the warp; others
/// are not read
void exchange(jit::WarpKind kind, jit::LaneOperation* lanes, std::uint32_t present);

/// Calls visit(lane) for each bit that is set.
template <typename Visit>
void for_each_lane(std::uint32_t lanes, Visit&& visit) {
    for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

/// Those of `lanes` for which holds(lane).
std::uint32_t lanes_where(std::uint32_t lanes, auto&& holds) {
    std::uint32_t result = 0;
    for_each_lane(lanes, [&](std::uint32_t lane) { result |= holds(lane) ? std::uint32_t{1} << lane : 0; });
    return result;
}

}  // namespace cudasim::execution
