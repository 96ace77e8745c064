// Arrays as kernels see them in Python mode: global, shared, local and constant memory, checked per axis,
// with the element types of the kernel compiler.
//
// Reading gives an int, a bool, a float of kernel_float.h or kernel_half.h (float16, bfloat16), or a complex
// number of kernel_complex.h; writing converts as the compiler does: integers keep their low bits, floats
// saturate; records are references. Other element types (dates, characters) go through a NumPy view of the
// same memory, and so does everything an ndarray can do and this class does not.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "frontend/pyfiber/accesses.h"

namespace cudasim::pyfiber {

struct KernelArray {
    PyObject_VAR_HEAD  // ob_size: 2 * ndim
        Address data;
    Py_ssize_t itemsize;
    Element element;
    bool writable;
    int ndim;
    PyObject* dtype;           ///< numpy.dtype
    PyObject* owner;           ///< keeps the memory
    PyObject* numpy;           ///< the NumPy view, once somebody asked
    Py_ssize_t dimensions[1];  ///< extents, then strides in bytes

    [[nodiscard]] Py_ssize_t extent(int axis) const { return dimensions[axis]; }
    [[nodiscard]] Py_ssize_t stride(int axis) const { return dimensions[ndim + axis]; }
};

extern PyTypeObject* kernel_array_type;

bool initialise_kernel_arrays(PyObject* module);

/// @param dimensions extents, then strides in bytes, 2 * ndim of them
[[nodiscard]] PyObject* make_array(Address data, PyObject* dtype, int ndim, const Py_ssize_t* dimensions,
                                   bool writable, PyObject* owner);
/// A shared or local array of the current thread: contiguous (C order) over fresh memory, poisoned (V3).
/// @param extents ndim of them
[[nodiscard]] PyObject* make_fresh_array(PyObject* dtype, int ndim, const Py_ssize_t* extents,
                                         std::uint16_t poison, execution::MemorySpace space);

/// Fresh memory, which no kernel knows yet: a bytearray that holds poison. Null with an exception set.
[[nodiscard]] PyObject* make_fresh_memory(Py_ssize_t bytes, std::uint16_t poison);

/// The address of an element; none with an exception set (an IndexError stands for its finding).
[[nodiscard]] Address element_address(KernelArray* array, PyObject* index);
/// False with an exception set: writes to constant memory and read-only arrays.
[[nodiscard]] bool check_writable(const KernelArray* array);

}  // namespace cudasim::pyfiber
