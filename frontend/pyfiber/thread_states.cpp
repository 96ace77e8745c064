// Finding CPython's key; the pool of thread states, which fork() empties.
#include "frontend/pyfiber/thread_states.h"

#include <climits>

namespace cudasim::pyfiber {

pthread_key_t ThreadStates::key;
std::vector<PyThreadState*> ThreadStates::idle;

namespace {

/// Other libraries keep thread states in keys of their own, so a match is tried out: PyGILState_GetThisThreadState()
/// reads the key that is looked for.
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

}  // namespace

bool ThreadStates::initialise() {
    if (!find_key(key)) {
        PyErr_SetString(PyExc_ImportError, "CPython's thread-state key was not found");
        return false;
    }
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
    state->native_thread_id = here->native_thread_id;
    return state;
}

}  // namespace cudasim::pyfiber
