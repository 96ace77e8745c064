// Taking the GIL in a process whose interpreter may be about to be finalised.
//
// A thread other than the finalising one must not run Python code any more. When it takes the GIL all the
// same, CPython until 3.13 ends it with pthread_exit(), which unwinds its frames: through destructors,
// noexcept functions and the stacks of fibers, any of which can terminate the process. CPython 3.14 lets such
// a thread hang instead (docs.python.org, "Cautions regarding runtime finalization"), and so do these
// functions on every version.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace cudasim::cpython {

/// Whether the interpreter is being finalised.
[[nodiscard]] inline bool interpreter_is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

/// Hangs this thread until the process is gone.
[[noreturn]] inline void park() {
    for (;;) ::pause();
}

/// Calls a function that takes the GIL or runs Python code; a thread that CPython ends in it is parked.
template <typename Function>
decltype(auto) parked_at_exit(Function&& function) {
    try {
        return function();
    } catch (
        abi::__forced_unwind&) {  // pthread_exit(); it may not be caught for good, so this does not return
        park();
    }
}

/// PyEval_RestoreThread().
/// @param ends_interpreter this thread is the finalising one: it gets the GIL
inline void take_gil(PyThreadState* state, bool ends_interpreter) {
    if (!ends_interpreter && interpreter_is_ending()) park();
    parked_at_exit([state] { PyEval_RestoreThread(state); });
}

/// Holds the GIL, on any thread.
class HeldGil {
  public:
    HeldGil()
        : ends_interpreter_(interpreter_is_ending()),
          state_(parked_at_exit([] { return PyGILState_Ensure(); })) {}
    ~HeldGil() {
        if (!ends_interpreter_ && interpreter_is_ending()) park();
        PyGILState_Release(state_);
    }
    HeldGil(const HeldGil&) = delete;
    HeldGil& operator=(const HeldGil&) = delete;

  private:
    bool ends_interpreter_;
    PyGILState_STATE state_;
};

}  // namespace cudasim::cpython
