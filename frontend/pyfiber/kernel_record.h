// Records (structured scalars) as kernels see them in Python mode: references to memory whose fields are read
// and written with the element types of the kernel compiler.
#pragma once

#include <Python.h>

#include "frontend/pyfiber/kernel_array.h"

namespace cudasim::pyfiber {

extern PyTypeObject* kernel_record_type;

bool initialise_kernel_records(PyObject* module);

/// The record's memory as a 0-dimensional ndarray. New reference, or null with an exception set.
[[nodiscard]] PyObject* numpy_record(PyObject* record, Use use);

/// The same as a 0-dimensional KernelArray.
[[nodiscard]] PyObject* record_as_array(PyObject* record);

/// @param dtype the structured numpy.dtype
[[nodiscard]] PyObject* make_record(Address data, PyObject* dtype, bool writable, PyObject* owner);
/// Copies a record of this type's fields to `address`. False with an exception set.
[[nodiscard]] bool store_record(Address address, PyObject* dtype, PyObject* value);
/// The array of the fields of that name of an array of records; null without an exception when it has none.
[[nodiscard]] PyObject* field_array(KernelArray* array, PyObject* name);

}  // namespace cudasim::pyfiber
