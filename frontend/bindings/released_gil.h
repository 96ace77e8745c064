// The GIL, released while the engine works; the end of the interpreter; and fork().
//
// A daemon thread may come back from a launch when the interpreter is already ending. CPython then ends the
// thread inside the function that takes the GIL (pthread_exit, until 3.13), which unwinds C++ frames and
// terminates the process at the first destructor. Such a thread is parked here instead, as CPython 3.14 does.
//
// A process that is forked while another thread works in the engine has that thread's locks and not the thread: its
// calls would wait for ever. Every such call begins here, so here it is refused.
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

/// This process was forked while another thread worked in the engine. (CUDA forbids forking after its initialisation
/// altogether.)
struct ForkedInUse {};

/// Counts a thread into the engine. @throws ForkedInUse
void enter_engine();
void leave_engine() noexcept;
[[nodiscard]] bool forked_in_use() noexcept;

class ReleasedGil {
  public:
    /// @param in_engine false for a thread that only waits for something to do: a fork() may pass it by
    explicit ReleasedGil(bool in_engine = true) : in_engine_(in_engine) {
        if (in_engine_) enter_engine();
        // With the GIL at the interpreter's end: the thread that ends it (a finalizer launches). It may come back.
        ends_interpreter_ = interpreter_is_ending();
        state_ = PyEval_SaveThread();
    }
    /// May unwind: the interpreter can begin to end between the question and taking the GIL.
    ~ReleasedGil() noexcept(false) {
        if (in_engine_) leave_engine();
        while (!ends_interpreter_ && interpreter_is_ending()) ::pause();
        PyEval_RestoreThread(state_);
    }
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

  private:
    bool in_engine_;
    PyThreadState* state_ = nullptr;
    bool ends_interpreter_ = false;
};

}  // namespace cudasim::bindings
