// Floats of 16 bits of kernels in Python mode: float16, a subclass of numpy.float16, and bfloat16, a type of
// its own. Sums, differences, products and quotients of two of one type have that type, rounded once;
// everything else computes in float32 or wider, as the compiler types it (kernel_number.h).
#pragma once

#include <Python.h>

#include <cstdint>

#include "frontend/pyfiber/kernel_array.h"

namespace cudasim::pyfiber {

/// Makes the classes; that of float16 derives from numpy.float16. False with an exception set.
bool initialise_kernel_halves(PyObject* module, PyObject* numpy_float16);

/// Rounds half to even; what is too large is infinite.
[[nodiscard]] PyObject* make_float16(double value);
[[nodiscard]] PyObject* make_bfloat16(double value);
/// A float16 or a bfloat16 of the bits, NaN with what they say.
[[nodiscard]] PyObject* make_short_float(Element element, std::uint16_t bits);
/// The bits of an object that is_float16() or is_bfloat16().
[[nodiscard]] std::uint16_t short_float_bits(PyObject* object);
[[nodiscard]] bool is_float16(PyObject* object);
[[nodiscard]] bool is_bfloat16(PyObject* object);
/// The value of an object that is_float16().
[[nodiscard]] double value_of_float16(PyObject* object);
/// The value of an object that is_bfloat16().
[[nodiscard]] double value_of_bfloat16(PyObject* object);

[[nodiscard]] std::uint16_t to_half_bits(double value);
[[nodiscard]] double from_half_bits(std::uint16_t bits);
/// NaN becomes CUDA's, 0x7fff.
[[nodiscard]] std::uint16_t to_bfloat_bits(double value);
[[nodiscard]] double from_bfloat_bits(std::uint16_t bits);

}  // namespace cudasim::pyfiber
