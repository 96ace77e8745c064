// Assignments in the text that a user types: total = 0, i += 2, a = b = 3, a, b = b, a. The operators are
// Python's, of which C++'s are a part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::debugger {

struct Assignment {
    std::vector<std::string> targets;  ///< in their order; one where there is an operation
    std::string operation;             ///< "+" of +=, "//" of //=; empty: the value itself is assigned
    std::string value;
};

/// Nothing where the text is none: `i == 3`, `f(a=3)`, `'a=b'`.
[[nodiscard]] std::optional<Assignment> assignment_from(std::string_view text);

/// Where a character stands in a text in no brackets and no quotes, the first from the right. npos: nowhere.
[[nodiscard]] std::size_t last_outside_of_brackets(std::string_view text, char wanted);

}  // namespace cudasim::debugger
