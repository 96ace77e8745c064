// complex64 and complex128 values of kernels in Python mode: subclasses of numpy.complex64 and
// numpy.complex128 whose arithmetic has the compiler's types (frontend/pykernel/types/promotion.cpp) and
// rounds as compiled code does (frontend/pykernel/emit/emit_complex.cpp). Division by zero is counted (C3).
#pragma once

#include <Python.h>

#include "frontend/pyfiber/kernel_array.h"

namespace cudasim::pyfiber {

/// A complex number, or a real one as an operand of a complex operation.
struct ComplexNumber {
    Element type = Element::other;  ///< other: no number
    double real = 0, imaginary = 0;
};

/// Makes the classes, which derive from numpy.complex64 and numpy.complex128. Returns false with an exception
/// set on failure.
bool initialise_kernel_complexes(PyObject* module, PyObject* numpy_complex64, PyObject* numpy_complex128);

/// @param type Element::complex64 or Element::complex128
[[nodiscard]] PyObject* make_complex(Element type, double real, double imaginary);
/// Reads kernels' complex numbers, Python's and NumPy's, and real numbers. No exception is set.
[[nodiscard]] ComplexNumber read_complex(PyObject* object);
[[nodiscard]] bool is_complex(PyObject* object);
/// Python's complex(real, imag) as kernels have it: of float32 alone a complex64.
[[nodiscard]] PyObject* call_complex(PyObject* arguments, PyObject* keywords);

}  // namespace cudasim::pyfiber
