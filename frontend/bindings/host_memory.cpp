// MemAlloc: the base of the package's classes for memory that host code may look at (mapped, managed,
// page-locked).
//
// A Python class that derives from it has the buffer protocol, over `_buflen_` bytes from address `_bufptr_`
// on, both attributes of the object. A NumPy array made from it keeps it alive. (Plain Python classes get the
// buffer protocol with CPython 3.12 only.)
#include "frontend/bindings/bindings.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

bool unsigned_attribute(PyObject* self, const char* name, std::size_t& value) {
    PyObject* attribute = PyObject_GetAttrString(self, name);
    if (attribute == nullptr) return false;
    PyObject* number = PyNumber_Index(attribute);
    Py_DECREF(attribute);
    if (number == nullptr) return false;
    value = PyLong_AsSize_t(number);
    Py_DECREF(number);
    return value != static_cast<std::size_t>(-1) || PyErr_Occurred() == nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    std::size_t address = 0, bytes = 0;
    if (!unsigned_attribute(self, "_bufptr_", address) || !unsigned_attribute(self, "_buflen_", bytes)) {
        view->obj = nullptr;
        return -1;
    }
    return PyBuffer_FillInfo(view, self, reinterpret_cast<void*>(address), static_cast<Py_ssize_t>(bytes), 0,
                             flags);
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)}, {0, nullptr}};
PyType_Spec specification = {"cudasim._native.MemAlloc", sizeof(PyObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void bind_host_memory(py::module_& module) {
    PyObject* type = PyType_FromSpec(&specification);
    if (type == nullptr) throw py::error_already_set();
    module.attr("MemAlloc") = py::reinterpret_steal<py::object>(type);
}

}  // namespace cudasim::bindings
