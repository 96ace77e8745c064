// Finding CPython's key; the pool of thread states, which fork() empties; exceptions and signals for thread
// states that take turns on one OS thread.
#if !defined(Py_BUILD_CORE)
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_ceval.h>  // _PY_SIGNALS_PENDING_BIT
#endif

#include <climits>

#include "frontend/cpython/thread_states.h"

#if PY_VERSION_HEX >= 0x030E0000
// Weak because 3.14.0 lacks it, and a module that was built for 3.14.1 or later may run on 3.14.0.
extern "C" PyAPI_FUNC(int) PyUnstable_ThreadState_SetStackProtection(PyThreadState*, void*, std::size_t)
    __attribute__((weak));
#endif

namespace cudasim::cpython {

pthread_key_t ThreadStates::key;
std::vector<PyThreadState*> ThreadStates::idle;

namespace {

#if PY_VERSION_HEX < 0x030C0000
/// Other libraries keep thread states in keys of their own, so a match is tried out:
/// PyGILState_GetThisThreadState() reads the key that is looked for.
bool find_key(pthread_key_t& found) {
    PyThreadState* self = PyGILState_GetThisThreadState();
    if (self == nullptr) return false;
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key) {
        if (pthread_getspecific(key) != self) continue;
        char probe = 0;
        pthread_setspecific(key, &probe);
        const bool read = reinterpret_cast<char*>(PyGILState_GetThisThreadState()) == &probe;
        pthread_setspecific(key, self);
        if (read) {
            found = key;
            return true;
        }
    }
    return false;
}
#endif

}  // namespace

bool ThreadStates::initialise() {
#if PY_VERSION_HEX >= 0x030E0000
    if (PyUnstable_ThreadState_SetStackProtection == nullptr) {
        PyErr_SetString(
            PyExc_ImportError,
            "Python mode is not available on CPython 3.14.0 (it needs CPython " CUDASIM_KNOWN_PYTHONS
            "; of 3.14 the version 3.14.1 or newer)");
        return false;
    }
#endif
#if PY_VERSION_HEX < 0x030C0000
    if (!find_key(key)) {
        PyErr_SetString(PyExc_ImportError, "CPython's thread-state key was not found");
        return false;
    }
#endif
    // In the child CPython frees the thread states of all other threads itself (PyOS_AfterFork_Child).
    pthread_atfork(nullptr, nullptr, [] { idle.clear(); });
    return true;
}

PyThreadState* ThreadStates::acquire() {
    if (idle.empty()) {
        PyThreadState* made = PyThreadState_New(PyThreadState_GetInterpreter(PyThreadState_Get()));
        if (made == nullptr) PyErr_NoMemory();
        return made;
    }
    PyThreadState* state = idle.back();
    idle.pop_back();
    const PyThreadState* here = PyThreadState_Get();
    state->thread_id = here->thread_id;  // the pool serves all OS threads that launch
#if PY_VERSION_HEX >= 0x030B0000
    state->native_thread_id = here->native_thread_id;
#endif
    return state;
}

void ThreadStates::forget_values(PyThreadState* state) {
    if (state->context != nullptr && PyContext_Exit(state->context) != 0) PyErr_Clear();
    Py_CLEAR(state->dict);  // threading.local() before 3.13
    Py_CLEAR(state->async_exc);
#if PY_VERSION_HEX >= 0x030D0000
    Py_CLEAR(state->threading_local_key);
    Py_CLEAR(state->threading_local_sentinel);
#endif
}

void ThreadStates::set_stack(PyThreadState* state, void* lowest, std::size_t bytes) {
#if PY_VERSION_HEX >= 0x030E0000
    if (PyUnstable_ThreadState_SetStackProtection(state, lowest, bytes) != 0) PyErr_Clear();
#else
    (void)state, (void)lowest, (void)bytes;  // calls are counted, the stack is not looked at
#endif
}

void ThreadStates::interrupt(PyThreadState* state, PyObject* exception_class) {
    const unsigned long id = state->thread_id;
    state->thread_id = ~0UL;  // lent for the call
    PyThreadState_SetAsyncExc(~0UL, exception_class);
    state->thread_id = id;
}

void ThreadStates::forward_signals(PyThreadState* told, PyThreadState* running) {
#if PY_VERSION_HEX >= 0x030D0000
    if ((__atomic_load_n(&told->eval_breaker, __ATOMIC_ACQUIRE) & _PY_SIGNALS_PENDING_BIT) == 0) return;
    __atomic_fetch_or(&running->eval_breaker, _PY_SIGNALS_PENDING_BIT, __ATOMIC_ACQ_REL);
#else
    (void)told, (void)running;
#endif
}

}  // namespace cudasim::cpython
