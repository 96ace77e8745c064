// Types of variables, read from the JSON that simulator/jit/debug_types.h describes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cudasim::debugger {

struct Type;
using TypePtr = std::shared_ptr<const Type>;

struct Member {
    std::string name;
    std::uint64_t offset = 0;  ///< in bytes
    TypePtr type;
};

enum class TypeKind : std::uint8_t {
    signed_number,
    unsigned_number,
    floating,
    complex,
    boolean,
    character,
    structure,
    pointer,
    sequence,
    unknown
};

struct Enumerator {
    std::string name;
    std::int64_t value = 0;
};

/// Immutable. An alias is the type that it stands for, with its own name.
struct Type {
    TypeKind kind = TypeKind::unknown;
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t length = 0;     ///< of a sequence
    TypePtr of;                   ///< what a pointer points to, and what a sequence consists of
    std::vector<Member> members;  ///< of a structure
    bool is_reference = false;    ///< a pointer that C++ calls a reference
    /// Of a bit-field: how many it has of the bits of its bytes, and how many lie below them. 0: all of them.
    std::uint32_t bits = 0, low_bit = 0;
    std::vector<Enumerator> enumerators;  ///< of an enumeration, which is a number
    bool is_scoped = false;               ///< C++'s `enum class`

    [[nodiscard]] const Member* member(std::string_view name) const;
    /// An array as front ends describe it: a structure of data, shape and strides.
    [[nodiscard]] bool is_array() const;
    /// How the number is written with the names of an enumeration: "red", "Colour::red", "(read | write)"
    /// where each enumerator is a bit of its own; else as a number.
    [[nodiscard]] std::string enumerator_text(std::int64_t value) const;
};

/// The number that a bit-field has in the word of its bytes, as 64 bits.
[[nodiscard]] std::uint64_t from_bit_field(const Type& type, std::uint64_t word);
/// The word with that number in it.
[[nodiscard]] std::uint64_t with_bit_field(const Type& type, std::uint64_t word, std::uint64_t number);

/// Parses each description once.
class Types {
  public:
    /// The unknown type for text that describes none.
    [[nodiscard]] TypePtr parse(const std::string& description);

  private:
    std::map<std::string, TypePtr> known_;
};

}  // namespace cudasim::debugger
