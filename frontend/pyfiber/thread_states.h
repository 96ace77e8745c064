// CPython's thread states for simulated threads, and the switch between them.
//
// CPython keeps everything that belongs to a thread of Python code (its frames, exception being handled, trace
// function, context variables) in a PyThreadState and believes that each belongs to an OS thread. Here each
// simulated thread has one of its own, and they take turns on one OS thread, which holds the GIL throughout.
//
// PyThreadState_Swap() changes the current one, but not what PyGILState_Check() and PyGILState_Ensure() look at: a
// thread-specific value of the OS thread. It has to follow, else extension modules that ask for the GIL while
// they have it wait for ever. Its key is private to CPython; initialise() finds it by looking.
#pragma once

#include <Python.h>
#include <pthread.h>

#include <vector>

namespace cudasim::pyfiber {

class ThreadStates {
  public:
    /// Once, with the GIL. False with an exception set when this CPython is not as expected.
    static bool initialise();

    /// Makes a thread state current. With the GIL.
    static void switch_to(PyThreadState* state) {
        PyThreadState_Swap(state);
        pthread_setspecific(key, state);
    }

    /// One that no simulated thread has; new ones cost microseconds, so they are kept. Null with MemoryError set.
    static PyThreadState* acquire();
    /// It is clean: no frame, no exception, no trace function, no context.
    static void release(PyThreadState* state) { idle.push_back(state); }

  private:
    static pthread_key_t key;
    static std::vector<PyThreadState*> idle;
};

}  // namespace cudasim::pyfiber
