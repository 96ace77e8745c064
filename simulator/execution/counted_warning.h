// What threads do that is worth a warning and does not end them: it is counted, place by place.
#pragma once

#include <cstdint>

#include "simulator/findings/finding.h"

namespace cudasim::execution {

/// A negative index, in range.
struct WrappedIndex {
    std::int64_t index = 0, size = 0;
    std::int32_t axis = 0;
};

/// What threads did at a place that is not an error: how often, and the lowest thread's.
struct CountedWarning {
    findings::FindingKind kind{};
    std::uint64_t count = 0, threads = 0;
    findings::ThreadCoordinate first, last;
    WrappedIndex index;  ///< of `first`; kind negative_index
};

}  // namespace cudasim::execution
