// The memory of a Python object with the buffer protocol, where it is contiguous.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

namespace cudasim::bindings {

/// A contiguous Python buffer (C or Fortran order), held while it lives. Made and destroyed with the GIL.
class ContiguousBuffer {
  public:
    /// @throws pybind11::error_already_set BufferError, TypeError or ValueError, as the object says
    ContiguousBuffer(pybind11::handle object, bool writable) {
        const int flags = PyBUF_ANY_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw pybind11::error_already_set();
    }
    ~ContiguousBuffer() { PyBuffer_Release(&view_); }
    ContiguousBuffer(const ContiguousBuffer&) = delete;
    ContiguousBuffer& operator=(const ContiguousBuffer&) = delete;
    [[nodiscard]] void* data() const { return view_.buf; }
    [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(view_.len); }

  private:
    Py_buffer view_{};
};

}  // namespace cudasim::bindings
