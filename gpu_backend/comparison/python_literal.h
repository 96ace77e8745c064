// Python literals, as far as NumPy writes types with them: strings, numbers, names, tuples, lists,
// dictionaries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::comparison {

struct Literal {
    enum class Kind { string, integer, name, tuple, list, dictionary };
    Kind kind = Kind::name;
    std::string text;            ///< of strings (UTF-8) and names
    std::uint64_t integer = 0;   ///< of integers
    std::vector<Literal> items;  ///< of tuples and lists; of dictionaries key, value, key, value, …

    /// The value of a dictionary at a key that is a string; nullptr where there is none.
    [[nodiscard]] const Literal* find(std::string_view key) const;
};

/// @returns nothing where the text is no such literal, or is nested more than 64 deep
[[nodiscard]] std::optional<Literal> parse_literal(std::string_view text);

}  // namespace cudasim::comparison
