// The value of a Python int, read and written without a call through Python's number protocol.
//
// Layout (Include/cpython/longintrepr.h): digits of PyLong_SHIFT bits, least significant first. Until
// CPython 3.11 ob_size holds their number, negative for negative values; from 3.12 on lv_tag holds the number
// above three bits, of which the lowest two are the sign: 0 positive, 1 zero, 2 negative.
#pragma once

#include <Python.h>

#include <cstdint>

namespace cudasim::cpython {

/// The low 64 bits, in two's complement, of an int or an instance of a subclass.
[[nodiscard]] inline std::int64_t low_bits(PyObject* integer) {
    return static_cast<std::int64_t>(PyLong_AsUnsignedLongLongMask(integer));
}

/// -1, 0 or 1 for an int or an instance of a subclass.
[[nodiscard]] inline int sign(PyObject* integer) {
#if PY_VERSION_HEX >= 0x030E0000
    int sign = 0;
    PyLong_GetSign(integer, &sign);
    return sign;
#else
    return _PyLong_Sign(integer);
#endif
}

/// Digits that a 64-bit value takes at most.
inline constexpr int most_digits = (64 + PyLong_SHIFT - 1) / PyLong_SHIFT;

/// Sets the value of an int that was allocated with room for most_digits digits and that nobody else has seen
/// yet.
inline void set_value(PyObject* object, bool is_negative, std::uint64_t magnitude) {
    auto* integer = reinterpret_cast<PyLongObject*>(object);
#if PY_VERSION_HEX >= 0x030C0000
    digit* digits = integer->long_value.ob_digit;
#else
    digit* digits = integer->ob_digit;
#endif
    Py_ssize_t count = 0;
    digits[0] = 0;
    for (; magnitude != 0; magnitude >>= PyLong_SHIFT)
        digits[count++] = static_cast<digit>(magnitude & PyLong_MASK);
#if PY_VERSION_HEX >= 0x030C0000
    const std::uintptr_t sign_bits = count == 0 ? 1 : is_negative ? 2 : 0;
    integer->long_value.lv_tag = static_cast<std::uintptr_t>(count) << 3 | sign_bits;
#else
    Py_SET_SIZE(integer, is_negative ? -count : count);
#endif
}

}  // namespace cudasim::cpython
