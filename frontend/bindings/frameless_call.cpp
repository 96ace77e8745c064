// FramelessCall: a callable around a Python function that leaves no frame of this package in the tracebacks
// of what it raises, so that they go from the user's launch line straight to the kernel's lines (C2).
//
// A C function has no Python frame of its own; the frames below it that belong to the package are cut out
// by cudasim._tracebacks.without_package_frames. Python classes derive from it: `kernel[grid, block]` is one.
#include "frontend/bindings/bindings.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

struct FramelessCall {
    PyObject_HEAD PyObject* function;
};

FramelessCall* as_call(PyObject* object) {
    return reinterpret_cast<FramelessCall*>(object);
}

/// The exception in flight loses the package's frames. Never replaces it by another one.
void clean_traceback() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject* module = PyImport_ImportModule("cudasim._tracebacks");
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

/// Trace functions do not see the package's own lines: a debugger that steps on a launch line is in the kernel next
/// (in Python mode; it has a thread state of its own), or on the line after.
class Untraced {
  public:
#if PY_VERSION_HEX >= 0x030B0000
    Untraced() { PyThreadState_EnterTracing(state_); }
    ~Untraced() { PyThreadState_LeaveTracing(state_); }
#endif
    Untraced(const Untraced&) = delete;
    Untraced& operator=(const Untraced&) = delete;

  private:
    PyThreadState* state_ = PyThreadState_Get();
};

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

}  // namespace

void bind_frameless_call(py::module_& module) {
    PyObject* type = PyType_FromSpec(&specification);
    if (type == nullptr) throw py::error_already_set();
    module.attr("FramelessCall") = py::reinterpret_steal<py::object>(type);
}

}  // namespace cudasim::bindings
