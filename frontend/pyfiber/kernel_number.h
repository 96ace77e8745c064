// Numbers as the kernel compiler types them, of whatever Python objects a kernel computes with; the
// compiler's rules for which type a result has (frontend/pykernel/promotion.cpp has the tables that they
// follow).
#pragma once

#include <Python.h>

#include <cstdint>

#include "frontend/cpython/integers.h"
#include "frontend/pyfiber/kernel_array.h"

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
/// In bytes.
[[nodiscard]] constexpr int width(Element type) {
    constexpr int widths[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 0, 0};
    return widths[static_cast<int>(type)];
}

inline double Number::as_double() const {
    if (is_float(type)) return real;
    return type == Element::uint64 ? static_cast<double>(static_cast<std::uint64_t>(whole))
                                   : static_cast<double>(whole);
}

/// A plain int is an int64, or a uint64 from 2**63 on. No exception is set.
[[nodiscard]] Number read_number(PyObject* object);
/// For a second rounding to 16 bits: large integers keep what decides it (sticky_double).
[[nodiscard]] double double_for_rounding(const Number& value);
using cpython::low_bits;

[[nodiscard]] constexpr bool is_short_float(Element type) {
    return type == Element::bfloat16 || type == Element::float16;
}

/// Of +, -, *, //, %: Numba's CUDA target has int64, uint64, float32 and float64 versions only, and float16's
/// and bfloat16's of the first three and of /.
[[nodiscard]] constexpr Element arithmetic_type(Element left, Element right) {
    if (!is_float(left) && !is_float(right))
        return is_unsigned(left) && is_unsigned(right) ? Element::uint64 : Element::int64;
    auto fits_float16 = [](Element type) {
        return type == Element::float16 || type == Element::int8 || type == Element::boolean;
    };
    if (fits_float16(left) && fits_float16(right)) return Element::float16;
    auto fits_bfloat16 = [](Element type) {
        return type == Element::bfloat16 || type == Element::int8 || type == Element::uint8;
    };
    if (fits_bfloat16(left) && fits_bfloat16(right)) return Element::bfloat16;
    auto fits_float32 = [](Element type) {
        return is_short_float(type) || type == Element::float32 ||
               (is_whole(type) && (width(type) == 1 || type == Element::int16));
    };
    return fits_float32(left) && fits_float32(right) ? Element::float32 : Element::float64;
}

/// What values of both types are brought to where control flow joins, and by min() and max().
[[nodiscard]] Element unified_type(Element left, Element right);

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
/// Of two numbers, one of them a float. New reference, or null with an exception set.
[[nodiscard]] PyObject* float_operation(Operation operation, PyObject* left, const Number& a, PyObject* right,
                                        const Number& b);

}  // namespace cudasim::pyfiber
