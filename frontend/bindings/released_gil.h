// The GIL, released while the engine works; the end of the interpreter; and fork().
//
// A daemon thread may come back from a launch when the interpreter is already ending. It is parked here
// (frontend/cpython/finalization.h says why).
//
// A process that is forked while another thread works in the engine has that thread's locks and not the
// thread: its calls would wait for ever. Every such call begins here, so here it is refused.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include "frontend/cpython/finalization.h"

namespace cudasim::bindings {

using cpython::interpreter_is_ending;

/// This process was forked while another thread worked in the engine. (CUDA forbids forking after its
/// initialisation altogether.)
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
        // A thread that has the GIL while the interpreter is being finalised is the one that finalises it (a
        // finalizer launches a kernel). It may take the GIL again.
        ends_interpreter_ = interpreter_is_ending();
        state_ = PyEval_SaveThread();
    }
    ~ReleasedGil() {
        if (in_engine_) leave_engine();
        cpython::take_gil(state_, ends_interpreter_);
    }
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

  private:
    bool in_engine_;
    PyThreadState* state_ = nullptr;
    bool ends_interpreter_ = false;
};

}  // namespace cudasim::bindings
