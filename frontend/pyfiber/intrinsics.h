// What kernels call in Python mode, as plain CPython functions: `cuda.grid`, `cuda.syncthreads`,
// `cuda.shared.array`, `cuda.atomic.add`, … Their names are those of cudasim.compile.intrinsics.
#pragma once

#include <Python.h>

namespace cudasim::pyfiber {

/// The current thread; null with an exception set outside of kernels.
[[nodiscard]] struct SimulatedThread* require_thread(const char* name);

/// Each adds its functions to the dictionary: name ("cuda.grid") → callable. False with an exception set.
bool add_intrinsics(PyObject* table);
bool add_memory_intrinsics(PyObject* table);
bool add_warp_intrinsics(PyObject* table);
bool add_group_intrinsics(PyObject* table);
bool add_atomics(PyObject* table);
bool add_libdevice(PyObject* table);
bool add_cache_hints(PyObject* table);
bool add_half_functions(PyObject* table);
/// name ("sqrt") → callable with the compiler's types and without Python's domain errors
bool add_math(PyObject* table);

/// name ("min") → what kernels have for a built-in function or type
bool add_builtins(PyObject* table);
bool add_print(PyObject* table);
/// set_print_listener(callable or None): it is called as print() is, after each
/// print() of a kernel to sys.stdout.
PyObject* set_print_listener(PyObject*, PyObject* listener);
/// NumPy's ufunc as kernels call it. @param math the function of the math module that computes the same, or
/// None
[[nodiscard]] PyObject* make_ufunc(PyObject* original, PyObject* math, PyObject* complex_function,
                                   PyObject* array_function);

/// Adds the functions of a method table under a prefix.
bool add_functions(PyObject* table, const char* prefix, PyMethodDef* methods);

/// @param dtype_of callable(dtype, or NumPy's or Numba's name of one) → numpy.dtype
/// @param excess callable(static bytes, dynamic bytes) → exception for a block that needs too much shared
/// memory
/// @param constant callable(ndarray) → KernelArray over a copy
/// @param shared_names callable(code, instruction of the call, dtype) → what the source calls a shared array,
/// and its elements' type
/// @param objects callable(metadata of the dtype, KernelArray) → the array as the kernel gets it
void set_memory_helpers(PyObject* dtype_of, PyObject* shared_excess, PyObject* local_excess,
                        PyObject* constant, PyObject* shared_names, PyObject* objects);

}  // namespace cudasim::pyfiber
