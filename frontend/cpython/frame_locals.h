// The local variables of a frame, of whichever thread state, while its code does not run.
//
//   until 3.12   frame.f_locals is a dictionary, a copy that PyFrame_LocalsToFast() writes back
//   from 3.13    it looks at the variables themselves (PEP 667)
#pragma once

#include <Python.h>
#include <frameobject.h>

namespace cudasim::cpython {

/// [(name, value)] of the variables that are assigned, those of enclosing functions last: new list,
/// or null with an exception set.
[[nodiscard]] inline PyObject* local_variables(PyFrameObject* frame) {
    PyObject* locals = PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals");
    PyObject* items = locals == nullptr ? nullptr : PyMapping_Items(locals);
    Py_XDECREF(locals);
    return items;
}

/// False with an exception set.
[[nodiscard]] inline bool set_local_variable(PyFrameObject* frame, PyObject* name, PyObject* value) {
    PyObject* locals = PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals");
    const bool set = locals != nullptr && PyObject_SetItem(locals, name, value) == 0;
    Py_XDECREF(locals);
#if PY_VERSION_HEX < 0x030D0000
    if (set) PyFrame_LocalsToFast(frame, 0);
#endif
    return set;
}

}  // namespace cudasim::cpython
