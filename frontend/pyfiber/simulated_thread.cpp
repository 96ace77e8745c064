// Waiting, yielding and faulting on behalf of the current simulated thread.
#include "frontend/pyfiber/simulated_thread.h"

#include <cstdarg>

#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_launch.h"

namespace cudasim::pyfiber {

PyObject* thread_ends = nullptr;

namespace {

/// A kernel that swallows the end of its launch this often will not end by itself.
constexpr std::uint32_t most_refusals = 1000;

/// Lets the engine have the fiber: call(handle, site) comes back when the thread may go on. False with an
/// exception set when its launch is over by then.
template <typename Call>
bool switch_away(SimulatedThread& thread, Call&& call) {
    thread.fuel = 0;
    if (thread.handle->ending()) return end_thread(thread);
    const std::uint32_t site = thread.launch->site_here();
    thread.leave();
    call(*thread.handle, site);
    thread.come_back();
    return !thread.handle->ending() || end_thread(thread);
}

}  // namespace

bool end_thread(SimulatedThread& thread) {
    if (++thread.endings_refused > most_refusals) {
        thread.leave();
        thread.handle->fault(findings::FindingKind::interrupted);
    }
    PyErr_SetString(thread_ends, "its launch is over");
    return false;
}

void drop(const SimulatedThread& thread, const LocalArray& local) {
    tell_memory_ends(thread.observers, reinterpret_cast<const KernelArray*>(local.array),
                     execution::MemorySpace::local);
    Py_DECREF(local.frame);
    Py_DECREF(local.array);
}

bool give_turn() {
    return switch_away(*current_thread,
                       [](execution::ThreadHandle& handle, std::uint32_t site) { handle.yield(site); });
}

bool wait_for_block(jit::BarrierKind kind, bool value, std::int32_t& result) {
    return switch_away(*current_thread, [&](execution::ThreadHandle& handle, std::uint32_t site) {
        result = handle.barrier(site, kind, value);
    });
}

bool meet_in_warp(jit::WarpKind kind, std::uint32_t mask, std::uint64_t value, std::uint32_t operand,
                  std::uint64_t& result) {
    SimulatedThread& thread = *current_thread;
    if (!thread.handle->ending() && (mask >> thread.handle->thread() % jit::warp_size & 1) == 0) {
        raise_finding(PyExc_RuntimeError, findings::FindingKind::missing_lane,
                      "the mask of a warp operation does not name the lane that calls it");
        return false;
    }
    if (observed_thread != nullptr) thread.observers->lane_comes(*thread.handle, kind, mask);
    const bool met = switch_away(thread, [&](execution::ThreadHandle& handle, std::uint32_t site) {
        result = handle.warp(kind, mask, value, operand, site);
    });
    if (met && observed_thread != nullptr) thread.observers->lane_goes_on(*thread.handle, kind, mask);
    return met;
}

bool note_float_division() {
    if (current_thread == nullptr) return true;
    SimulatedThread& thread = *current_thread;
    if (!thread.handle->float_division(thread.launch->site_here())) return true;
    raise_finding(PyExc_ZeroDivisionError, findings::FindingKind::float_division, "float division by zero");
    return false;
}

void raise_finding(PyObject* exception_class, findings::FindingKind kind, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    PyObject* message = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (message == nullptr) return;
    PyObject* exception = PyObject_CallOneArg(exception_class, message);
    Py_DECREF(message);
    if (exception == nullptr) return;
    PyObject* number = PyLong_FromLong(static_cast<long>(kind));
    if (number != nullptr && PyObject_SetAttrString(exception, finding_attribute, number) == 0)
        PyErr_SetObject(exception_class, exception);
    Py_XDECREF(number);
    Py_DECREF(exception);
}

}  // namespace cudasim::pyfiber
