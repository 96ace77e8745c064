// The GIL, released while the engine works, and the end of the interpreter.
//
// A daemon thread may come back from a launch when the interpreter is already ending. CPython then ends the
// thread inside the function that takes the GIL (pthread_exit, until 3.13), which unwinds C++ frames and
// terminates the process at the first destructor. Such a thread is parked here instead, as CPython 3.14 does.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

namespace cudasim::bindings {

[[nodiscard]] inline bool interpreter_is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

class ReleasedGil {
  public:
    ReleasedGil() : state_(PyEval_SaveThread()) {}
    /// May unwind: the interpreter can begin to end between the question and taking the GIL.
    ~ReleasedGil() noexcept(false) {
        while (interpreter_is_ending()) ::pause();
        PyEval_RestoreThread(state_);
    }
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

  private:
    PyThreadState* state_;
};

}  // namespace cudasim::bindings
