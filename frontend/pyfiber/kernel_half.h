// float16 values of kernels in Python mode: a subclass of numpy.float16. Sums, differences, products and quotients of two are
// float16, rounded once; everything else computes in float32 or wider, as the compiler types it (kernel_number.h).
#pragma once

#include <Python.h>

#include <cstdint>

namespace cudasim::pyfiber {

/// With the type numpy.float16. False with an exception set.
bool initialise_kernel_halves(PyObject* module, PyObject* numpy_float16);

/// Rounds half to even; what is too large is infinite.
[[nodiscard]] PyObject* make_float16(double value);
[[nodiscard]] bool is_float16(PyObject* object);
/// Of an object that is_float16().
[[nodiscard]] double value_of_float16(PyObject* object);

[[nodiscard]] std::uint16_t to_half_bits(double value);
[[nodiscard]] double from_half_bits(std::uint16_t bits);

}  // namespace cudasim::pyfiber
