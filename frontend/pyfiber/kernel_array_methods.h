// Attributes and methods of KernelArray: what it says about itself, and what it leaves to NumPy.
#pragma once

#include "frontend/pyfiber/kernel_array.h"

namespace cudasim::pyfiber {

extern PyMethodDef kernel_array_methods[];
extern PyGetSetDef kernel_array_attributes[];
PyObject* kernel_array_attribute(PyObject* self, PyObject* name);
PyObject* kernel_array_text(PyObject* self);

/// A tuple with KernelArrays replaced by their NumPy views; anything else likewise. New reference.
[[nodiscard]] PyObject* without_kernel_arrays(PyObject* value, Use use);

}  // namespace cudasim::pyfiber
