// Owning a Python object, for as long as the GIL is held where it ends.
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

}  // namespace cudasim::pyfiber
