// A value of a stopped thread: its type, its bytes, and what lies behind it in memory. Arrays are looked at
// element by element, so that a large one costs no more than what is shown of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "debugger/values/type.h"

namespace cudasim::debugger {

/// Memory as the thread sees it.
class Memory {
  public:
    virtual ~Memory() = default;
    /// False, and nothing is copied, where the thread may not access all of it.
    [[nodiscard]] virtual bool read(std::uint64_t address, std::span<std::byte> target) const = 0;
};

/// Elements in memory. Strides are in bytes.
struct ElementArray {
    std::uint64_t address = 0;  ///< of the first element
    std::vector<std::int64_t> shape, strides;
    TypePtr element;
};

struct Value {
    TypePtr type;
    std::vector<std::byte> bytes;          ///< empty for elements(): what is behind an array
    std::optional<std::uint64_t> address;  ///< where the bytes lie, for values in memory
    std::uint64_t offset = 0;              ///< of a part: where it begins in the bytes of its variable
    std::optional<ElementArray> array;     ///< of arrays, and of their rows
    std::string unavailable;               ///< why there is no value; empty: there is one
};

/// @param bytes type.bytes of them
[[nodiscard]] Value value_from(TypePtr type, std::span<const std::byte> bytes);
/// A value in memory. Unavailable where it cannot be read.
[[nodiscard]] Value value_at(TypePtr type, std::uint64_t address, const Memory& memory);

/// One line: 3, 0.5, (1, 2.0), [0.0, 1.0, ...].
[[nodiscard]] std::string text_of(const Value& value, const Memory& memory);
/// The type's name, with the shape of arrays.
[[nodiscard]] std::string type_text(const Value& value);

/// How many parts it has that have numbers (elements), and that have names (members).
[[nodiscard]] std::uint64_t element_count(const Value& value);
[[nodiscard]] std::uint64_t member_count(const Value& value);

/// `[3]` of an array, sequence or tuple. Negative indices count from the end. Nothing where there is none.
[[nodiscard]] std::optional<Value> element_of(const Value& value, std::int64_t index, const Memory& memory);
/// `.name` of a record or structure; `shape`, `size`, `ndim` of an array are no members.
[[nodiscard]] std::optional<Value> member_of(const Value& value, std::string_view name, const Memory& memory);

struct Part {
    std::string name;    ///< [3], x
    std::string suffix;  ///< what follows the expression of the whole: [3], .x
    Value value;
};
/// Parts [first, first + count).
[[nodiscard]] std::vector<Part> parts_of(const Value& value, std::uint64_t first, std::uint64_t count,
                                         const Memory& memory);

/// A structure whose members have numbers for names: a tuple.
[[nodiscard]] bool is_tuple(const Type& type);

}  // namespace cudasim::debugger
