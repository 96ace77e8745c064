// Expressions that name a place: x, x[3], x[i, 2], p.mass, pairs[1][0]. What they name has parts and can be
// assigned to. All other expressions are the front end's (debugger/control/evaluator.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cudasim::debugger {

struct Path {
    std::string name;
    std::vector<std::variant<std::int64_t, std::string>> steps;  ///< [index] or .member
};

/// Nothing for text that is no such expression; indices are whole numbers.
[[nodiscard]] std::optional<Path> path_from(std::string_view text);

}  // namespace cudasim::debugger
