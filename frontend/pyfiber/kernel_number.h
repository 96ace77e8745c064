// Numbers as the kernel compiler types them, read from whatever Python objects a kernel computes with. Which
// type a result has is Numba's rule, shared with the compiler: frontend/numba_rules.
#pragma once

#include <Python.h>

#include <cstdint>

#include "frontend/cpython/integers.h"
#include "frontend/numba_rules/numbers.h"
#include "frontend/pyfiber/elements.h"

namespace cudasim::pyfiber {

struct Number {
    Element type = Element::other;  ///< other: no number
    std::int64_t whole = 0;         ///< of booleans and integers; the bits of a uint64
    double real = 0;                ///< of floats
    [[nodiscard]] double as_double() const;
};

[[nodiscard]] constexpr bool is_integer(Element type) {
    return type >= Element::int8 && type <= Element::uint64;
}
[[nodiscard]] constexpr bool is_unsigned(Element type) {
    return type >= Element::uint8 && type <= Element::uint64;
}
[[nodiscard]] constexpr bool is_float(Element type) {
    return type >= Element::bfloat16 && type <= Element::float64;
}
[[nodiscard]] constexpr bool is_whole(Element type) {
    return type <= Element::uint64;
}

inline double Number::as_double() const {
    if (is_float(type)) return real;
    return type == Element::uint64 ? static_cast<double>(static_cast<std::uint64_t>(whole))
                                   : static_cast<double>(whole);
}

/// A plain int is an int64, or a uint64 from 2**63 on. No exception is set.
[[nodiscard]] Number read_number(PyObject* object);
/// The value as a double that will be rounded to 16 bits. Large integers keep the bits that decide that
/// rounding (sticky_double).
[[nodiscard]] double double_for_rounding(const Number& value);
using cpython::low_bits;

[[nodiscard]] constexpr bool is_short_float(Element type) {
    return type == Element::bfloat16 || type == Element::float16;
}

// Element begins with the numbers of frontend/numba_rules.
static_assert(static_cast<int>(Element::boolean) == static_cast<int>(numba_rules::Number::boolean));
static_assert(static_cast<int>(Element::uint64) == static_cast<int>(numba_rules::Number::uint64));
static_assert(static_cast<int>(Element::bfloat16) == static_cast<int>(numba_rules::Number::bfloat16));
static_assert(static_cast<int>(Element::complex128) == static_cast<int>(numba_rules::Number::complex128));

/// @param element a number's type
[[nodiscard]] constexpr numba_rules::Number number_type(Element element) {
    return static_cast<numba_rules::Number>(element);
}
/// Element::other for numba_rules::Number::none.
[[nodiscard]] constexpr Element element_type(numba_rules::Number number) {
    return number == numba_rules::Number::none ? Element::other : static_cast<Element>(number);
}

/// The type of left + right, and of - and * likewise. Both are types of numbers.
[[nodiscard]] constexpr Element arithmetic_type(Element left, Element right) {
    return element_type(numba_rules::arithmetic_table.result(number_type(left), number_type(right)));
}
/// The type of left // right and of left % right.
[[nodiscard]] constexpr Element floored_type(Element left, Element right) {
    return element_type(numba_rules::floored_table.result(number_type(left), number_type(right)));
}
/// The type of left ** right.
[[nodiscard]] constexpr Element power_type(Element left, Element right) {
    return element_type(numba_rules::power_table.result(number_type(left), number_type(right)));
}
/// The type of left << right and left >> right. Both are types of integers.
[[nodiscard]] constexpr Element shift_type(Element left, Element right) {
    return element_type(numba_rules::shift_table.result(number_type(left), number_type(right)));
}
/// The type to which comparisons convert both.
[[nodiscard]] constexpr Element comparison_type(Element left, Element right) {
    return element_type(numba_rules::comparison_table.left_operand(number_type(left), number_type(right)));
}
/// What values of both types are brought to where control flow joins, and by min() and max().
[[nodiscard]] constexpr Element unified_type(Element left, Element right) {
    return element_type(numba_rules::unified(number_type(left), number_type(right)));
}

/// A value of a type: a bool, a kernel integer (kernel_integer.cpp) or a kernel float. Wraps and saturates as
/// PTX.
[[nodiscard]] PyObject* make_number(Element type, const Number& value);
[[nodiscard]] PyObject* make_integer(Element type, std::int64_t bits);

/// The integer's bits in a type: cut and extended.
[[nodiscard]] std::int64_t wrapped(Element type, std::int64_t bits);
/// PTX cvt.rzi of a float (elements.cpp).
[[nodiscard]] std::int64_t saturated(Element type, double value, bool from_float32);

/// int8 to uint64 as subclasses of int. False with an exception set.
bool initialise_kernel_integers(PyObject* module);
[[nodiscard]] PyTypeObject* integer_type(Element type);

enum class Operation {
    add,
    subtract,
    multiply,
    true_divide,
    floor_divide,
    remainder,
    power,
    left_shift,
    right_shift,
    bit_and,
    bit_or,
    bit_xor
};
/// The operation on two numbers, one of them a float. New reference, or null with an exception set.
[[nodiscard]] PyObject* float_operation(Operation operation, PyObject* left, const Number& a, PyObject* right,
                                        const Number& b);

}  // namespace cudasim::pyfiber
