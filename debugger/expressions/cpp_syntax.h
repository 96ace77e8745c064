// The debugger's own expressions, a subset of C++, as syntax trees: literals, names, members (`.`, `->`),
// indices, the unary operators - + ! ~ * &, casts ((float)x, float(x), static_cast<float>(x)), arithmetic,
// shifts, comparisons, && || ?:, sizeof and parentheses. Casts to types of the program are those with an
// asterisk or in front of a name or number: (Node*)p, (Colour)2.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::debugger {

/// Why a text is no expression, or none that has a value here. For people.
struct ExpressionError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct CppSyntax {
    enum class Kind : std::uint8_t {
        integer,
        real,
        boolean,
        name,
        member,  ///< text: its name; `->` where is_arrow
        index,   ///< parts[0][parts[1], ...]
        unary,
        binary,
        conditional,
        cast,     ///< to the type `text`, with `pointers` asterisks
        size_of,  ///< parts[0]: an expression, which may be the name of a type; else the type as of a cast
    };
    Kind kind = Kind::integer;
    std::string text;  ///< of names and operators
    std::uint64_t integer = 0;
    double real = 0;
    bool is_unsigned = false, is_long = false, is_float = false;  ///< of literals
    bool is_arrow = false;
    bool is_of_program = false;  ///< the type is none of C++'s own
    unsigned pointers = 0;
    std::vector<std::unique_ptr<CppSyntax>> parts;
};

/// @throws ExpressionError with what is wrong and at which column
[[nodiscard]] std::unique_ptr<CppSyntax> parse_cpp(std::string_view text);

/// "unsigned long" and "long unsigned int" are one type. Empty for what is no fundamental type.
[[nodiscard]] std::string fundamental_type(std::string_view words);

}  // namespace cudasim::debugger
