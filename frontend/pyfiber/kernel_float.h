// float32 and float64 values of kernels in Python mode: subclasses of numpy.float32 and numpy.float64 that
// follow the kernel compiler's rules where Python's or NumPy's are others.
//
//   float32 with float32 → float32; with an int or a float64 → float64 (Numba's promotion; NumPy 2 keeps
//     float32)
//   division by zero → IEEE's result, counted (C3); 0.0 ** -1 → inf; int(nan), int(1e300) → PTX's result (V2)
//
// Integers: kernel_integer.cpp. kernel_number.h says which type a result has.
#pragma once

#include <Python.h>

namespace cudasim::pyfiber {

/// Makes the classes, which derive from numpy.float32 and numpy.float64. Returns false with an exception set
/// on failure.
bool initialise_kernel_floats(PyObject* module, PyObject* numpy_float32, PyObject* numpy_float64);

[[nodiscard]] PyObject* make_float32(float value);
[[nodiscard]] PyObject* make_float64(double value);

enum class NumberKind { none, integer, float32, float64 };
/// Kind (float32 for one of 16 bits) and value of an int, a float or a NumPy scalar; none for everything else
/// (no exception set).
[[nodiscard]] NumberKind number_of(PyObject* object, double& value);

/// PTX cvt.rzi to 64 bits: saturates; NaN gives the smallest value (PTX ISA, cvt).
[[nodiscard]] long long to_int64(double value);

}  // namespace cudasim::pyfiber
