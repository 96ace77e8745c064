// cudasim._pyfiber: CPython running on simulated threads.
//
//   simulated_thread.h      the thread that Python code is on now; waiting, yielding, faulting
//   kernel_launch.h         a launch: the engine's HostKernel
//   intrinsics.h            what kernels call: positions, barriers, memory, atomics, math
//   kernel_array.h          arrays as kernels see them; kernel_float.h, kernel_number.h: floats, integers
//
// An extension of its own: it looks into CPython (frontend/cpython) where cudasim._native does not, so for a
// CPython that it was not tried with another file is built in its place (unknown_interpreter.cpp), which
// costs Python mode and nothing else.
#include <Python.h>

#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_complex.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_half.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/kernel_record.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

/// launch(plan, function, arguments, settles, thread tracer, whether each thread starts it, after block, set
/// of files whose lines threads stop at, name, static limit, shared limit, dynamic bytes, seconds) → (plan's
/// report, KernelLaunch::outcome())
PyObject* launch(PyObject*, PyObject* arguments) {
    PyObject *plan = nullptr, *function = nullptr, *values = nullptr, *settles = nullptr, *tracer = nullptr,
             *after_block = nullptr, *stop_files = nullptr;
    const char* name = nullptr;
    unsigned long long static_limit = 0, limit = 0, dynamic = 0;
    double seconds = 0;
    int each_thread = 0;
    if (!PyArg_ParseTuple(arguments, "OOO!OOpOO!sKKKd", &plan, &function, &PyTuple_Type, &values, &settles,
                          &tracer, &each_thread, &after_block, &PyFrozenSet_Type, &stop_files, &name,
                          &static_limit, &limit, &dynamic, &seconds))
        return nullptr;
    if (current_thread != nullptr) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a kernel cannot launch a kernel: numba.cuda has no dynamic parallelism");
        return nullptr;
    }
    if (cpython::interpreter_is_ending()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a kernel cannot run in Python mode while the interpreter is shutting down");
        return nullptr;
    }
    KernelLaunch kernel(function, values, settles, {tracer, each_thread != 0}, after_block, stop_files, name,
                        {static_limit, limit, dynamic, seconds});
    Reference capsule(
        PyCapsule_New(static_cast<execution::HostKernel*>(&kernel), "cudasim.HostKernel", nullptr));
    Reference method(capsule ? PyUnicode_FromString("launch") : nullptr);
    PyObject* report = method ? PyObject_CallMethodOneArg(plan, method.get(), capsule.get()) : nullptr;
    if (report == nullptr) return nullptr;
    PyObject* outcome = kernel.outcome();
    if (outcome == nullptr) {
        Py_DECREF(report);
        return nullptr;
    }
    return Py_BuildValue("NN", report, outcome);
}

/// array(address, shape, strides, dtype, writable, owner) → KernelArray
PyObject* array(PyObject*, PyObject* arguments) {
    PyObject *address = nullptr, *shape = nullptr, *strides = nullptr, *dtype = nullptr, *owner = nullptr;
    int writable = 0;
    if (!PyArg_ParseTuple(arguments, "OO!O!OpO", &address, &PyTuple_Type, &shape, &PyTuple_Type, &strides,
                          &dtype, &writable, &owner))
        return nullptr;
    std::vector<Py_ssize_t> dimensions;
    for (PyObject* part : {shape, strides})
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(part); ++i)
            dimensions.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(part, i)));
    void* data = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred()) return nullptr;
    return make_array(Address(data), dtype, static_cast<int>(PyTuple_GET_SIZE(shape)), dimensions.data(),
                      writable != 0, owner);
}

/// ufunc(numpy.ufunc, function of the math module or None) → what kernels call
PyObject* ufunc(PyObject*, PyObject* arguments) {
    PyObject *original = nullptr, *math = nullptr, *complex_function = nullptr, *array_function = nullptr;
    return PyArg_ParseTuple(arguments, "OOOO", &original, &math, &complex_function, &array_function)
               ? make_ufunc(original, math, complex_function, array_function)
               : nullptr;
}

/// set_helpers(view_maker, dtype_of, shared_excess, local_excess, constant, shared_names, objects)
PyObject* set_helpers(PyObject*, PyObject* arguments) {
    PyObject *view = nullptr, *dtype = nullptr, *shared = nullptr, *local = nullptr, *constant = nullptr,
             *names = nullptr, *objects = nullptr;
    if (!PyArg_ParseTuple(arguments, "OOOOOOO", &view, &dtype, &shared, &local, &constant, &names, &objects))
        return nullptr;
    set_view_maker(view);
    set_memory_helpers(dtype, shared, local, constant, names, objects);
    Py_RETURN_NONE;
}

/// ((tid), (ctaid)) of the simulated thread that calls, or None.
PyObject* position(PyObject*, PyObject*) {
    if (current_thread == nullptr) Py_RETURN_NONE;
    const findings::Dim3 tid = current_thread->handle->tid(), ctaid = current_thread->handle->ctaid();
    return Py_BuildValue("(III)(III)", tid.x, tid.y, tid.z, ctaid.x, ctaid.y, ctaid.z);
}

/// The kernel that the calling simulated thread runs, or None.
PyObject* kernel_name(PyObject*, PyObject*) {
    if (current_thread == nullptr) Py_RETURN_NONE;
    return PyUnicode_FromString(current_thread->launch->name().c_str());
}

// -- what the package's host objects do when they are called on a simulated thread
// -----------------------------
//
// A kernel usually sees replacements of these objects (cudasim.python_mode.kernel_globals); it can also reach
// the objects themselves, through a module or a container. These are methods in C because a Python frame
// between would be where debuggers step to and where arrays take their place from.

PyObject *intrinsics_table = nullptr, *function_of = nullptr;

PyObject* table_entry(PyObject* self) {
    Reference name(PyObject_GetAttrString(self, "__cudasim_intrinsic__"));
    PyObject* entry = name ? PyDict_GetItemWithError(intrinsics_table, name.get()) : nullptr;
    if (entry == nullptr) PyErr_Clear();
    return entry;
}

/// The method of that name that the class has for the host.
PyObject* call_host_method(PyObject* self, const char* name, PyObject* arguments, PyObject* keywords) {
    Reference method(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), name));
    Reference whole(PyTuple_New(PyTuple_GET_SIZE(arguments) + 1));
    if (!method || !whole) return nullptr;
    PyTuple_SET_ITEM(whole.get(), 0, Py_NewRef(self));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i)
        PyTuple_SET_ITEM(whole.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
    return PyObject_Call(method.get(), whole.get(), keywords);
}

PyObject* call_in_kernel(PyObject* all, PyObject* keywords, bool is_intrinsic) {
    PyObject* self = PyTuple_GET_SIZE(all) > 0 ? PyTuple_GET_ITEM(all, 0) : nullptr;
    Reference rest(PyTuple_GetSlice(all, 1, PyTuple_GET_SIZE(all)));
    if (self == nullptr || !rest) return nullptr;
    if (current_thread == nullptr) return call_host_method(self, "host_call", rest.get(), keywords);
    if (!is_intrinsic) {
        Reference function(PyObject_CallOneArg(function_of, self));
        return function ? PyObject_Call(function.get(), rest.get(), keywords) : nullptr;
    }
    PyObject* entry = table_entry(self);
    if (entry == nullptr) return call_host_method(self, "host_call", rest.get(), keywords);
    return PyObject_Call(entry, rest.get(), keywords);
}

PyObject* intrinsic_call(PyObject*, PyObject* all, PyObject* keywords) {
    return call_in_kernel(all, keywords, true);
}
PyObject* dispatcher_call(PyObject*, PyObject* all, PyObject* keywords) {
    return call_in_kernel(all, keywords, false);
}

PyObject* intrinsic_attribute(PyObject*, PyObject* all) {
    PyObject *self = nullptr, *name = nullptr;
    if (!PyArg_ParseTuple(all, "OO", &self, &name)) return nullptr;
    if (current_thread != nullptr) {
        if (PyObject* entry = table_entry(self)) return PyObject_GetAttr(entry, name);
    }
    Reference rest(PyTuple_Pack(1, name));
    return rest ? call_host_method(self, "host_attribute", rest.get(), nullptr) : nullptr;
}

/// set_function_of(callable(dispatcher) → the Python function that runs on simulated threads)
PyObject* set_function_of(PyObject*, PyObject* function) {
    Py_XSETREF(function_of, Py_NewRef(function));
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"intrinsic_call", with_keywords(&intrinsic_call), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"intrinsic_attribute", &intrinsic_attribute, METH_VARARGS, nullptr},
    {"dispatcher_call", with_keywords(&dispatcher_call), METH_VARARGS | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

bool add_methods(PyObject* module) {
    for (PyMethodDef* method = methods; method->ml_name != nullptr; ++method) {
        Reference function(PyCFunction_New(method, nullptr));
        Reference bound(function ? PyInstanceMethod_New(function.get()) : nullptr);
        if (!bound || PyModule_AddObjectRef(module, method->ml_name, bound.get()) != 0) return false;
    }
    return true;
}

PyMethodDef functions[] = {
    {"launch", &launch, METH_VARARGS, "Runs a Python function as a kernel."},
    {"array", &array, METH_VARARGS, "A KernelArray over memory."},
    {"ufunc", &ufunc, METH_VARARGS, "NumPy's ufunc as kernels call it."},
    {"set_print_listener", &set_print_listener, METH_O,
     "What is called as print() is, after each print() of a kernel to sys.stdout; None: nothing."},
    {"set_helpers", &set_helpers, METH_VARARGS, "Functions of cudasim.python_mode that this module calls."},
    {"set_function_of", &set_function_of, METH_O, "How a dispatcher is called on a simulated thread."},
    {"position", &position, METH_NOARGS, "(tid, ctaid) of the calling simulated thread, or None."},
    {"kernel_name", &kernel_name, METH_NOARGS, "The kernel that the calling simulated thread runs, or None."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "cudasim._pyfiber",
                          "CPython on simulated threads; private to the package.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

bool add_types(PyObject* module) {
    Reference numpy(PyImport_ImportModule("numpy"));
    Reference narrow(numpy ? PyObject_GetAttrString(numpy.get(), "float32") : nullptr);
    Reference wide(numpy ? PyObject_GetAttrString(numpy.get(), "float64") : nullptr);
    Reference half(numpy ? PyObject_GetAttrString(numpy.get(), "float16") : nullptr);
    if (!half || !initialise_kernel_halves(module, half.get())) return false;
    Reference narrow_complex(numpy ? PyObject_GetAttrString(numpy.get(), "complex64") : nullptr);
    Reference wide_complex(numpy ? PyObject_GetAttrString(numpy.get(), "complex128") : nullptr);
    return narrow && wide && initialise_kernel_floats(module, narrow.get(), wide.get()) && narrow_complex &&
           wide_complex && initialise_kernel_complexes(module, narrow_complex.get(), wide_complex.get()) &&
           initialise_kernel_integers(module) && initialise_kernel_arrays(module) &&
           initialise_kernel_records(module) && initialise_unwritten_values(module);
}

bool add_tables(PyObject* module) {
    Reference intrinsics(PyDict_New()), math(PyDict_New()), builtins(PyDict_New());
    return intrinsics && math && builtins && add_builtins(builtins.get()) && add_print(builtins.get()) &&
           PyModule_AddObjectRef(module, "builtins", builtins.get()) == 0 &&
           add_intrinsics(intrinsics.get()) && add_warp_intrinsics(intrinsics.get()) &&
           add_group_intrinsics(intrinsics.get()) && add_memory_intrinsics(intrinsics.get()) &&
           add_atomics(intrinsics.get()) && add_libdevice(intrinsics.get()) &&
           add_cache_hints(intrinsics.get()) && add_half_functions(intrinsics.get()) &&
           add_math(math.get()) && add_methods(module) &&
           (intrinsics_table = Py_NewRef(intrinsics.get())) != nullptr &&
           PyModule_AddObjectRef(module, "intrinsics", intrinsics.get()) == 0 &&
           PyModule_AddObjectRef(module, "math", math.get()) == 0;
}

bool initialise(PyObject* module) {
    thread_ends = PyErr_NewExceptionWithDoc(
        "cudasim.ThreadEnds", "Ends a simulated thread whose launch is over.", PyExc_BaseException, nullptr);
    return thread_ends != nullptr && PyModule_AddObjectRef(module, "ThreadEnds", thread_ends) == 0 &&
           PyModule_AddIntConstant(module, "most_threads", execution::most_guarded_threads) == 0 &&
           ThreadStates::initialise() && add_types(module) && add_tables(module);
}

}  // namespace
}  // namespace cudasim::pyfiber

PyMODINIT_FUNC PyInit__pyfiber() {
    using namespace cudasim::pyfiber;
    PyObject* module = PyModule_Create(&definition);
    if (module != nullptr && !initialise(module)) Py_CLEAR(module);
    return module;
}
