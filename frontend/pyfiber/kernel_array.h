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

namespace cudasim::pyfiber {

enum class Element : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    bfloat16,
    float16,
    float32,
    float64,
    complex64,
    complex128,
    record,  ///< kernel_record.h
    other
};

struct KernelArray {
    PyObject_VAR_HEAD  // ob_size: 2 * ndim
        char* data;
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

/// @param view_maker callable(address, shape, strides, dtype, writable, owner) → numpy.ndarray
bool initialise_kernel_arrays(PyObject* module);
void set_view_maker(PyObject* view_maker);

/// @param dimensions extents, then strides in bytes, 2 * ndim of them
[[nodiscard]] PyObject* make_array(char* data, PyObject* dtype, int ndim, const Py_ssize_t* dimensions,
                                   bool writable, PyObject* owner);
/// Contiguous (C order) over fresh memory, poisoned (V3). @param extents ndim of them
[[nodiscard]] PyObject* make_fresh_array(PyObject* dtype, int ndim, const Py_ssize_t* extents,
                                         std::uint16_t poison);

void fill_poison(char* data, Py_ssize_t bytes, std::uint16_t pattern);

/// The address of an element; null with an exception set (an IndexError stands for its finding).
[[nodiscard]] char* element_address(KernelArray* array, PyObject* index);
[[nodiscard]] PyObject* load(Element element, const char* address);
/// False with an exception set.
[[nodiscard]] bool store(Element element, char* address, PyObject* value);
/// False with an exception set: writes to constant memory and read-only arrays.
[[nodiscard]] bool check_writable(const KernelArray* array);

}  // namespace cudasim::pyfiber
