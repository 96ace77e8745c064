// What C++ needs of CPython's API in many places: owning an object, for as long as the GIL is held where it
// ends, and the forms of functions in method tables.
#pragma once

#include <Python.h>

#include <utility>

namespace cudasim::pyfiber {

/// A strong reference.
class Reference {
  public:
    Reference() = default;
    explicit Reference(PyObject* stolen) : object_(stolen) {}
    static Reference borrowed(PyObject* object) { return Reference(Py_XNewRef(object)); }
    ~Reference() { Py_XDECREF(object_); }
    Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Reference& operator=(Reference&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    [[nodiscard]] PyObject* get() const { return object_; }
    [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_ = nullptr;
};

/// METH_FASTCALL.
inline PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
/// METH_FASTCALL | METH_KEYWORDS.
inline PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
/// METH_VARARGS | METH_KEYWORDS.
inline PyCFunction with_keywords(PyObject* (*function)(PyObject*, PyObject*, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace cudasim::pyfiber
