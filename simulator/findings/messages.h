// What findings say, where several parts of the project make findings of one kind: the engine, and the GPU
// back end of what a GPU reported.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/findings/finding.h"

namespace cudasim::findings {

/// The message of a kind that says the same at each place; a general one for kinds whose message depends on
/// the place.
[[nodiscard]] const char* message_of(FindingKind kind);

/// An index as the source has it, before wrapping, of one axis of an array.
struct IndexFault {
    std::int64_t index = 0;    ///< the bits, where `is_unsigned`
    std::int64_t size = 0;     ///< elements along the axis
    std::int32_t axis = 0;     ///< from 0
    bool is_unsigned = false;  ///< the index
};

/// The message of out_of_bounds_index.
[[nodiscard]] std::string index_out_of_bounds(const IndexFault& fault);
/// The message of negative_index.
[[nodiscard]] std::string wrapped_index(const IndexFault& fault);

}  // namespace cudasim::findings
