// Keeps trace and profile functions from seeing the Python code that runs in a scope, and says which trace
// and profile functions a thread state has.
#pragma once

#include <Python.h>

namespace cudasim::cpython {

/// While it lives, no Python code of this thread is traced or profiled; nor, from CPython 3.12 on, reported
/// to tools of sys.monitoring. Create and destroy it in the same C++ function.
class TracingSuspended {
  public:
#if PY_VERSION_HEX >= 0x030B0000
    TracingSuspended() { PyThreadState_EnterTracing(state_); }
    ~TracingSuspended() { PyThreadState_LeaveTracing(state_); }
#else
    // CPython 3.10 has these functions for itself only: Python/ceval.c looks at `use_tracing` of the running
    // C frame.
    TracingSuspended() {
        ++state_->tracing;
        state_->cframe->use_tracing = 0;
    }
    ~TracingSuspended() {
        --state_->tracing;
        state_->cframe->use_tracing =
            state_->c_tracefunc != nullptr || state_->c_profilefunc != nullptr ? 255 : 0;
    }
#endif
    TracingSuspended(const TracingSuspended&) = delete;
    TracingSuspended& operator=(const TracingSuspended&) = delete;

  private:
    PyThreadState* state_ = PyThreadState_Get();
};

/// What sys.settrace() or sys.setprofile() installed in a thread state. The object is borrowed.
struct TraceFunction {
    Py_tracefunc function = nullptr;
    PyObject* object = nullptr;
    explicit operator bool() const { return function != nullptr; }
};
[[nodiscard]] inline TraceFunction trace_function(const PyThreadState* state) {
    return {state->c_tracefunc, state->c_traceobj};
}
[[nodiscard]] inline TraceFunction profile_function(const PyThreadState* state) {
    return {state->c_profilefunc, state->c_profileobj};
}

}  // namespace cudasim::cpython
