// CPython's thread states for simulated threads, and the switch between them.
//
// CPython keeps everything that belongs to a thread of Python code (its frames, exception being handled,
// trace function, context variables) in a PyThreadState and believes that each belongs to an OS thread. Here
// each simulated thread has one of its own, and they take turns on one OS thread, which holds the GIL.
//
//   until 3.11   PyThreadState_Swap() changes the current one, but not what PyGILState_Check() and
//                PyGILState_Ensure() look at: a thread-specific value of the OS thread. It has to follow,
//                else extension modules that ask for the GIL while they have it wait for ever. Its key is
//                private to CPython; initialise() finds it by looking.
//   3.12         PyThreadState_Swap() sets that value itself.
//   from 3.13    it releases the GIL and takes it again, too, so other OS threads may run Python code in
//                between.
//   from 3.14    each thread state knows the bounds of the C stack of its OS thread and takes a stack pointer
//                outside of them for an overflow. A thread state that runs on another stack has to be told
//                so: set_stack().
#pragma once

#include <Python.h>
#include <pthread.h>

#include <cstddef>
#include <vector>

#include "frontend/cpython/finalization.h"

namespace cudasim::cpython {

class ThreadStates {
  public:
    /// Called once, with the GIL. Returns false with an exception set when this CPython is not as expected.
    static bool initialise();

    /// Makes a thread state current. Needs the GIL, which it keeps up to 3.12 and releases and takes again
    /// from 3.13 on.
    static void switch_to(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030D0000
        parked_at_exit([state] { PyThreadState_Swap(state); });
#else
        PyThreadState_Swap(state);
#endif
#if PY_VERSION_HEX < 0x030C0000
        pthread_setspecific(key, state);
#endif
    }

    /// One that no simulated thread has; new ones cost microseconds, so they are kept. Null with MemoryError
    /// set.
    static PyThreadState* acquire();
    /// It is clean: no frame, no exception, no trace function, no context.
    static void release(PyThreadState* state) { idle.push_back(state); }

    /// Drops what belongs to a thread of Python code that is over: its context variables, values of
    /// threading.local() and an exception that was still to be raised in it. The thread state is the current
    /// one.
    static void forget_values(PyThreadState* state);

    /// Sets the stack that code of this thread state runs on from now on. Called before the state becomes
    /// current.
    static void set_stack(PyThreadState* state, void* lowest, std::size_t bytes);

    /// Raises an exception class in a thread state at its next bytecode, as PyThreadState_SetAsyncExc() does.
    /// That function identifies OS threads, and all simulated threads share one. Needs the GIL.
    static void interrupt(PyThreadState* state, PyObject* exception_class);

    /// Until 3.12 a signal's Python handler runs in whichever thread state of the main thread is current.
    /// From 3.13 on only the main thread's first thread state is told that a signal came: a simulated thread
    /// in its place does not hear of it.
    static constexpr bool hide_signals = PY_VERSION_HEX >= 0x030D0000;
    /// Tells `running` of a signal that `told` was told of and has not served. Needs no GIL.
    static void forward_signals(PyThreadState* told, PyThreadState* running);

  private:
    static pthread_key_t key;
    static std::vector<PyThreadState*> idle;
};

}  // namespace cudasim::cpython
