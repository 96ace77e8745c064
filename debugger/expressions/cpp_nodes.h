// The nodes of a CppProgram, and what they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "debugger/expressions/cpp_program.h"

namespace cudasim::debugger {

enum class Op : std::uint8_t {
    constant,
    special,  ///< number: CppSpecial
    load,     ///< first: a place
    address,  ///< first: a place
    convert,
    negate,
    complement,
    logical_not,
    logical_and,
    logical_or,
    choose,
    bit_or,
    bit_xor,
    bit_and,
    shift_left,
    shift_right,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    equal,  // the six comparisons
    unequal,
    less,
    greater,
    less_or_equal,
    at_least,
    advance,   ///< a pointer by a number of elements
    distance,  ///< of two pointers; number: bytes of an element
    // Places.
    variable,      ///< number: its index
    member,        ///< number: its offset
    element,       ///< of a sequence, at `second`
    dereference,   ///< first: a pointer
    array_element  ///< of an array with data, shape and strides; more: the indices
};

struct CppProgram::Node {
    Op op = Op::constant;
    TypePtr type;
    bool is_place = false;
    std::unique_ptr<Node> first, second, third;
    std::vector<std::unique_ptr<Node>> more;
    std::int64_t number = 0;
    unsigned axis = 0;
    CppScalar constant;
};

[[nodiscard]] inline bool is_signed(const Type& type) {
    return type.kind == TypeKind::signed_number;
}
[[nodiscard]] inline bool is_integral(const Type& type) {
    return (is_signed(type) || type.kind == TypeKind::unsigned_number || type.kind == TypeKind::boolean ||
            type.kind == TypeKind::character) &&
           type.bytes >= 1 && type.bytes <= 8;
}
[[nodiscard]] inline bool is_number(const Type& type) {
    return is_integral(type) || (type.kind == TypeKind::floating && (type.bytes == 4 || type.bytes == 8) &&
                                 type.name != "bfloat16");
}
[[nodiscard]] inline bool is_scalar_type(const Type& type) {
    return is_number(type) || type.kind == TypeKind::pointer;
}

/// As C++ converts it.
[[nodiscard]] CppScalar converted(const CppScalar& value, const Type& from, const Type& to) noexcept;
[[nodiscard]] std::vector<std::byte> bytes_of(const CppScalar& value, const Type& type);

/// Evaluates nodes; nothing of it locks, allocates or throws.
class CppMachine {
  public:
    using Node = CppProgram::Node;
    explicit CppMachine(const CppEnvironment& environment) : environment_(environment) {}
    [[nodiscard]] CppFault value(const Node& node, CppScalar& result) const noexcept;
    [[nodiscard]] CppFault place(const Node& node, CppPlace& result) const noexcept;
    /// What lies at the node's place.
    [[nodiscard]] CppFault load(const Node& node, CppScalar& result) const noexcept;

  private:
    [[nodiscard]] CppFault integer(const Node& node, const CppScalar& left, const CppScalar& right,
                                   CppScalar& result) const noexcept;
    [[nodiscard]] CppFault array_element(const Node& node, CppPlace& result) const noexcept;
    [[nodiscard]] CppFault read(const CppPlace& place, std::byte* target, std::size_t bytes) const noexcept;

    const CppEnvironment& environment_;
};

}  // namespace cudasim::debugger
