// Types of datetime64 and timedelta64: numbers of a unit since 1970, and of a unit. Rules: NumPy's reference,
// "Datetimes and Timedeltas"; which operators exist is a fact about Numba's CUDA target.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/pykernel/syntax/syntax_tree.h"
#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

/// Units by their place in a list from coarse to fine.
namespace date_units {

struct Unit {
    std::string_view name;
    std::int64_t of_next;  ///< how many of the next finer unit make one; 0: no fixed number
};

/// A month has no fixed number of weeks, so years and months are a group of their own.
inline constexpr auto units = std::to_array<Unit>({{"Y", 12},
                                                   {"M", 0},
                                                   {"W", 7},
                                                   {"D", 24},
                                                   {"h", 60},
                                                   {"m", 60},
                                                   {"s", 1000},
                                                   {"ms", 1000},
                                                   {"us", 1000},
                                                   {"ns", 1000},
                                                   {"ps", 1000},
                                                   {"fs", 1000},
                                                   {"as", 0},
                                                   {"", 0}});
inline constexpr int months = 1, weeks = 2, days = 3, bare = static_cast<int>(units.size()) - 1;

/// Years and months.
[[nodiscard]] constexpr bool by_calendar(int rank) {
    return rank <= months;
}
/// The unit in which values of two units meet; empty when they do not.
/// @param through_calendar whether years and months meet days and what is finer
[[nodiscard]] std::optional<int> common_unit(int a, int b, bool through_calendar);

}  // namespace date_units

/// The type of an operator's value where an operand is a date or a duration; null where there is no such
/// operator.
[[nodiscard]] TypeRef date_operation_type(TypeTable& types, Operator op, TypeRef left, TypeRef right);

}  // namespace cudasim::pykernel
