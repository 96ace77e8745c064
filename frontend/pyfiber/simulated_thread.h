// The simulated thread that Python code is running on now, and how it leaves and comes back.
//
//   Python code → C function (intrinsics.cpp) → leave → engine switches fibers … → come back
//   → Python code goes on
//
// Every function that may switch is a plain CPython function: pybind11 keeps a record per call that
// must not be crossed by a switch.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "frontend/cpython/current_frame.h"
#include "frontend/cpython/thread_states.h"
#include "simulator/execution/host_kernel.h"

namespace cudasim::pyfiber {

class KernelLaunch;

using cpython::CodePlace;  // one per source place, as rule V4 and barriers need it
using cpython::current_place;
using cpython::ThreadStates;

/// One per source place and call of the function that it lies in (V4). Owns its objects, except the code's.
struct LocalArray {
    CodePlace place;
    PyObject *frame = nullptr, *array = nullptr;
    std::uint64_t bytes = 0;
};

struct SimulatedThread {
    execution::ThreadHandle* handle = nullptr;
    KernelLaunch* launch = nullptr;
    PyThreadState* state = nullptr;
    PyThreadState* host_state = nullptr;             ///< of the worker's own stack
    std::atomic<PyThreadState*>* running = nullptr;  ///< the launch's note of whose turn it is
    std::uint32_t fuel = 0;                          ///< burnt since the thread last let others run
    std::uint32_t endings_refused = 0;  ///< how often it went on after it was told that the launch is over
    std::vector<LocalArray> local_arrays;
    Py_tracefunc hosts_trace = nullptr;                        ///< whose place stops have taken (stops.h)
    const execution::AccessObserverList* observers = nullptr;  ///< of its accesses (accesses.h); null: none
    execution::ValueObserver* values = nullptr;                ///< who follows its values; null: nobody

    void leave();
    void come_back();
};

/// Null outside of simulated threads, the worker's own stack included.
inline thread_local SimulatedThread* current_thread [[gnu::tls_model("initial-exec")]] = nullptr;
/// The current thread where somebody observes its accesses, else null.
inline thread_local SimulatedThread* observed_thread [[gnu::tls_model("initial-exec")]] = nullptr;

inline void SimulatedThread::leave() {
    *running = nullptr;
    current_thread = nullptr;
    observed_thread = nullptr;
    ThreadStates::switch_to(host_state);
}
inline void SimulatedThread::come_back() {
    ThreadStates::switch_to(state);
    current_thread = this;
    observed_thread = observers != nullptr ? this : nullptr;
    *running = state;
}

/// Lets a local array of the thread go.
void drop(const SimulatedThread& thread, const LocalArray& local);

/// Something that a thread may spin on burns fuel; used up, others get a turn (E5). False with an exception
/// set when the launch has ended meanwhile.
inline constexpr std::uint32_t fuel_per_turn = 1 << 18;
inline constexpr std::uint32_t fuel_of_access = 1, fuel_of_atomic = 1 << 10;
[[nodiscard]] bool give_turn();
[[nodiscard]] inline bool burn(std::uint32_t fuel) {
    if (current_thread == nullptr || (current_thread->fuel += fuel) < fuel_per_turn) [[likely]]
        return true;
    return give_turn();
}

/// Raises what ends the thread. Returns false. Code that goes on regardless is abandoned where it stands.
bool end_thread(SimulatedThread& thread);

/// Waits for the block. False with an exception set when the launch has ended meanwhile.
[[nodiscard]] bool wait_for_block(jit::BarrierKind kind, bool value, std::int32_t& result);

/// Waits for the lanes of a mask; the result as in abi.h. False with an exception set when the launch has
/// ended meanwhile.
[[nodiscard]] bool meet_in_warp(jit::WarpKind kind, std::uint32_t mask, std::uint64_t value,
                                std::uint32_t operand, std::uint64_t& result);

/// A float division by zero of the current thread (C3). False with ZeroDivisionError set where it is an
/// error.
[[nodiscard]] bool note_float_division();

/// Sets an exception that stands for a finding of this kind.
void raise_finding(PyObject* exception_class, findings::FindingKind kind, const char* format, ...);

/// What ends a thread whose launch is over: no Exception, so that kernels do not catch it by accident.
extern PyObject* thread_ends;

}  // namespace cudasim::pyfiber
