// FramelessCall: a callable around a Python function that leaves no frame of this package in the tracebacks
// of what it raises, so that they go from the user's launch line straight to the kernel's lines (C2).
//
// A C function has no Python frame of its own; the frames below it that belong to the package are cut out
// by cudasim.reports.tracebacks.without_package_frames. Python classes derive from it: `kernel[grid, block]`
// is one. FramelessMethod: the same for a method, used as a decorator. Debuggers do not step into either.
#include <Python.h>
#include <structmember.h>

#include <cstddef>

#include "frontend/bindings/bindings.h"
#include "frontend/cpython/tracing.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

struct FramelessCall {
    PyObject_HEAD PyObject* function;
};

FramelessCall* as_call(PyObject* object) {
    return reinterpret_cast<FramelessCall*>(object);
}

/// Removes the package's frames from the traceback of the pending exception, which no other one replaces.
void clean_traceback() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject* module = PyImport_ImportModule("cudasim.reports.tracebacks");
    PyObject* cleaned = module == nullptr ? nullptr
                                          : PyObject_CallMethod(module, "without_package_frames", "O",
                                                                traceback == nullptr ? Py_None : traceback);
    Py_XDECREF(module);
    if (cleaned == nullptr) {
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
        return;
    }
    Py_XDECREF(traceback);
    if (cleaned == Py_None) Py_CLEAR(cleaned);
    if (value != nullptr && PyException_SetTraceback(value, cleaned == nullptr ? Py_None : cleaned) != 0) {
        PyErr_Clear();
    }
    PyErr_Restore(type, value, cleaned);
}

/// Trace functions do not see the package's own lines: a debugger that steps on a launch line is in the
/// kernel next (in Python mode; it has a thread state of its own), or on the line after.
using Untraced = cpython::TracingSuspended;

PyObject* call(PyObject* self, PyObject* arguments, PyObject* keywords) {
    PyObject* function = as_call(self)->function;
    if (function == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "FramelessCall was not initialised");
        return nullptr;
    }
    const Untraced untraced;
    PyObject* result = PyObject_Call(function, arguments, keywords);
    if (result == nullptr) clean_traceback();
    return result;
}

int initialise(PyObject* self, PyObject* arguments, PyObject*) {
    PyObject* function = nullptr;
    if (!PyArg_ParseTuple(arguments, "O", &function)) return -1;
    Py_INCREF(function);
    Py_XSETREF(as_call(self)->function, function);
    return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(as_call(self)->function);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

int clear(PyObject* self) {
    Py_CLEAR(as_call(self)->function);
    return 0;
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call)},
                       {Py_tp_init, reinterpret_cast<void*>(&initialise)},
                       {Py_tp_new, reinterpret_cast<void*>(&PyType_GenericNew)},
                       {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
                       {0, nullptr}};

PyType_Spec specification = {"cudasim._native.FramelessCall", sizeof(FramelessCall), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

struct FramelessMethod {
    PyObject_HEAD PyObject* function;
    vectorcallfunc vectorcall;
};

PyObject* call_method(PyObject* self, PyObject* const* arguments, std::size_t count, PyObject* names) {
    const Untraced untraced;
    PyObject* result =
        PyObject_Vectorcall(reinterpret_cast<FramelessMethod*>(self)->function, arguments, count, names);
    if (result == nullptr) clean_traceback();
    return result;
}

PyObject* make_method(PyTypeObject* type, PyObject* arguments, PyObject*) {
    PyObject* function = nullptr;
    if (!PyArg_ParseTuple(arguments, "O", &function)) return nullptr;
    PyObject* made = type->tp_alloc(type, 0);
    if (made == nullptr) return nullptr;
    Py_INCREF(function);
    reinterpret_cast<FramelessMethod*>(made)->function = function;
    reinterpret_cast<FramelessMethod*>(made)->vectorcall = &call_method;
    return made;
}

PyObject* bind_method(PyObject* self, PyObject* object, PyObject*) {
    if (object != nullptr && object != Py_None) return PyMethod_New(self, object);
    Py_INCREF(self);
    return self;
}

PyObject* document(PyObject* self, void*) {
    return PyObject_GetAttrString(reinterpret_cast<FramelessMethod*>(self)->function, "__doc__");
}

void deallocate_method(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    Py_CLEAR(reinterpret_cast<FramelessMethod*>(self)->function);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FramelessMethod, vectorcall), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(FramelessMethod, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef method_properties[] = {{"__doc__", &document, nullptr, nullptr, nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                              {Py_tp_new, reinterpret_cast<void*>(&make_method)},
                              {Py_tp_descr_get, reinterpret_cast<void*>(&bind_method)},
                              {Py_tp_members, method_members},
                              {Py_tp_getset, method_properties},
                              {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate_method)},
                              {0, nullptr}};

PyType_Spec method_specification = {
    "cudasim._native.FramelessMethod", sizeof(FramelessMethod), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};

void add_type(py::module_& module, const char* name, PyType_Spec& type_specification) {
    PyObject* type = PyType_FromSpec(&type_specification);
    if (type == nullptr) throw py::error_already_set();
    module.attr(name) = py::reinterpret_steal<py::object>(type);
}

}  // namespace

void bind_frameless_call(py::module_& module) {
    add_type(module, "FramelessCall", specification);
    add_type(module, "FramelessMethod", method_specification);
}

}  // namespace cudasim::bindings
