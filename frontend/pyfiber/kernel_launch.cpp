// Running a thread: its thread state, the call, and what becomes of an exception.
#include "frontend/pyfiber/kernel_launch.h"

#include <unistd.h>

#include <chrono>
#include <new>
#include <system_error>

#include "frontend/cpython/code_objects.h"
#include "frontend/cpython/tracing.h"
#include "frontend/pyfiber/code_places.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/stops.h"

namespace cudasim::pyfiber {

using findings::FindingKind;

namespace {

findings::CallChain chain_of(PyObject* traceback) {
    findings::CallChain chain;
    for (auto* entry = reinterpret_cast<PyTracebackObject*>(traceback); entry != nullptr;
         entry = entry->tb_next) {
        PyCodeObject* code = PyFrame_GetCode(entry->tb_frame);
        if (!is_own(code)) chain.insert(chain.begin(), source_location(code, entry->tb_lasti));
        Py_DECREF(code);
    }
    return chain;
}

bool is_raise_statement(PyObject* traceback) {
    auto* entry = reinterpret_cast<PyTracebackObject*>(traceback);
    if (entry == nullptr) return false;
    while (entry->tb_next != nullptr) entry = entry->tb_next;
    Reference code(reinterpret_cast<PyObject*>(PyFrame_GetCode(entry->tb_frame)));
    Reference bytes(cpython::instructions_of(reinterpret_cast<PyCodeObject*>(code.get())));
    if (!bytes || entry->tb_lasti < 0 || entry->tb_lasti >= PyBytes_GET_SIZE(bytes.get())) return false;
    return static_cast<unsigned char>(PyBytes_AS_STRING(bytes.get())[entry->tb_lasti]) ==
           cpython::raise_opcode();
}

/// The kind of finding that an exception becomes. Messages of division errors become those of compiled
/// kernels.
FindingKind kind_of(PyObject* exception, PyObject* traceback, std::string& message) {
    if (PyObject_HasAttrString(exception, finding_attribute)) {
        Reference number(PyObject_GetAttrString(exception, finding_attribute));
        return static_cast<FindingKind>(PyLong_AsLong(number.get()));
    }
    if (Py_TYPE(exception) != reinterpret_cast<PyTypeObject*>(PyExc_ZeroDivisionError))
        return FindingKind::kernel_exception;
    if (is_raise_statement(traceback)) return FindingKind::kernel_exception;
    const bool integer = message.starts_with("integer");
    if (integer) message = "integer division or modulo by zero";
    return integer ? FindingKind::integer_division : FindingKind::float_division;
}

std::string class_name(PyObject* exception) {
    Reference name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(exception)), "__qualname__"));
    return text_of(name.get());
}

/// A kernel gives no value: the compiler's error, where something else kept it from seeing that.
void refuse_value(const std::string& kernel, PyObject* value) {
    Reference errors(PyImport_ImportModule("cudasim.errors"));
    Reference typing(errors ? PyObject_GetAttrString(errors.get(), "TypingError") : nullptr);
    if (typing)
        PyErr_Format(typing.get(),
                     "CUDA kernel must have void return type, but '%s' returns a value of type %.100s",
                     kernel.c_str(), Py_TYPE(value)->tp_name);
}

}  // namespace

KernelLaunch::KernelLaunch(PyObject* function, PyObject* arguments, PyObject* settles,
                           ThreadTracer thread_tracer, PyObject* after_block, PyObject* stop_files,
                           std::string name, LaunchLimits limits)
    : function_(Reference::borrowed(function)),
      arguments_(Reference::borrowed(arguments)),
      settles_(Reference::borrowed(settles)),
      thread_tracer_(Reference::borrowed(thread_tracer.start)),
      after_block_(Reference::borrowed(after_block)),
      stop_files_(Reference::borrowed(stop_files)),
      each_thread_is_traced_(thread_tracer.each_thread),
      name_(std::move(name)),
      limits_(limits),
      host_state_(PyThreadState_Get()) {}

void KernelLaunch::begin() {
    cpython::take_gil(host_state_, false);  // launch() refuses kernels while the interpreter ends
    context_ = Reference(PyContext_CopyCurrent());
    if (!context_) PyErr_Clear();
    trace_ = host_state_->c_tracefunc;
    trace_object_ = Reference::borrowed(host_state_->c_traceobj);
    profile_ = host_state_->c_profilefunc;
    profile_object_ = Reference::borrowed(host_state_->c_profileobj);
    if (limits_.seconds <= 0 && !ThreadStates::hide_signals) return;
    try {
        watchdog_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {  // no memory for a thread, or too many of them
        end();
        throw std::bad_alloc();
    }
}

void KernelLaunch::end() {
    blocks_.clear();
    context_ = Reference();
    give_states_back();
    PyEval_SaveThread();
    if (!watchdog_.joinable()) return;
    {
        const std::lock_guard lock(watch_mutex_);
        over_ = true;
    }
    watch_.notify_all();
    watchdog_.join();
}

bool KernelLaunch::block_over(std::uint64_t block) {
    if (const auto known = blocks_.find(block); known != blocks_.end() && observers_ != nullptr) {
        for (const SharedArray& shared : known->second.arrays)
            tell_memory_ends(observers_, reinterpret_cast<const KernelArray*>(shared.array.get()),
                             execution::MemorySpace::shared);
    }
    blocks_.erase(block);
    ++blocks_over_;
    if (after_block_.get() == Py_None) return true;
    Reference again(
        PyObject_CallFunction(after_block_.get(), "K", static_cast<unsigned long long>(blocks_over_)));
    if (again) {
        if (again.get() == Py_False) after_block_ = Reference::borrowed(Py_None);
        return true;
    }
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    if (ends_launch_)
        Py_XDECREF(value);
    else
        ends_launch_ = Reference(value);
    return false;
}

/// How often the watchdog looks for signals and, once the time is over, for the thread whose turn it is.
constexpr auto look_interval = std::chrono::milliseconds(50);
/// Time that an interrupted thread has for its `finally` and `with` blocks before it is interrupted again.
constexpr auto unwinding_time = std::chrono::seconds(1);

/// Python code that computes calls nothing of ours: it is interrupted by an exception from outside.
void KernelLaunch::watch() {
    using Clock = std::chrono::steady_clock;
    const auto limit =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits_.seconds));
    Clock::time_point interruption = limits_.seconds > 0 ? Clock::now() + limit : Clock::time_point::max();
    std::unique_lock lock(watch_mutex_);
    auto next_look = [&] {
        if (held_since_) return Clock::now() + look_interval;
        return ThreadStates::hide_signals ? std::min(interruption, Clock::now() + look_interval)
                                          : interruption;
    };
    while (!watch_.wait_until(lock, next_look(), [this] { return over_; })) {
        if (held_since_) continue;  // the time limit stands still, and the launching thread hears of signals
        if (limits_.seconds > 0) interruption += std::exchange(held_time_, Clock::duration(0));
        lock.unlock();
        if (PyThreadState* running = running_) ThreadStates::forward_signals(host_state_, running);
        if (Clock::now() >= interruption) {
            const cpython::HeldGil held;
            PyThreadState* running = running_;
            if (running != nullptr) ThreadStates::interrupt(running, thread_ends);
            interruption =
                Clock::now() + (running != nullptr ? unwinding_time : Clock::duration(look_interval));
        }
        lock.lock();
    }
}

PyThreadState* KernelLaunch::acquire_state() {
    if (idle_states_.empty()) return ThreadStates::acquire();
    PyThreadState* state = idle_states_.back();
    idle_states_.pop_back();
    return state;
}

void KernelLaunch::give_states_back() {
    for (PyThreadState* state : idle_states_) {
        if (state->c_tracefunc != nullptr || state->c_profilefunc != nullptr) {
            ThreadStates::switch_to(state);
            PyEval_SetTrace(nullptr, nullptr);
            PyEval_SetProfile(nullptr, nullptr);
            ThreadStates::switch_to(host_state_);
        }
        ThreadStates::release(state);
    }
    idle_states_.clear();
}

/// Tracers that keep something per thread (coverage.py) make one for each thread state, which later threads
/// share.
void KernelLaunch::trace(PyThreadState* state) {
    if (profile_ != nullptr && state->c_profilefunc == nullptr)
        PyEval_SetProfile(profile_, profile_object_.get());
    if (trace_ == nullptr || state->c_tracefunc != nullptr) return;
    if (thread_tracer_.get() == Py_None) {
        PyEval_SetTrace(trace_, trace_object_.get());
        return;
    }
    PyObject* settrace = PySys_GetObject("settrace");
    Reference done(settrace == nullptr ? nullptr : PyObject_CallOneArg(settrace, thread_tracer_.get()));
    if (!done) PyErr_Clear();
}

void KernelLaunch::prepare(SimulatedThread& thread) {
    if (context_) {
        PyObject* own = PyContext_Copy(context_.get());
        if (own == nullptr || PyContext_Enter(own) != 0) PyErr_Clear();
        Py_XDECREF(own);  // entered: the thread state keeps it
    }
    if (trace_ != nullptr || profile_ != nullptr) trace(thread.state);
}

/// A debugger that the kernel called itself has traced this one thread.
void KernelLaunch::clean(SimulatedThread& thread) {
    PyThreadState* state = thread.state;
    if (state->c_tracefunc != nullptr && (trace_ == nullptr || each_thread_is_traced_))
        PyEval_SetTrace(nullptr, nullptr);
    for (const LocalArray& local : thread.local_arrays) drop(thread, local);
    ThreadStates::forget_values(state);
}

void KernelLaunch::run(execution::ThreadHandle& handle) {
    PyThreadState* state = acquire_state();
    if (state == nullptr) {
        PyErr_Clear();
        fault_ = {};
        fault_.message = "the host has no memory for another thread's state";
        fault_.exception_type = "MemoryError";
        handle.fail(0);
        return;
    }
    SimulatedThread thread;
    thread.handle = &handle;
    thread.launch = this;
    thread.state = state;
    thread.host_state = host_state_;
    thread.running = &running_;
    thread.observers = observers_ = handle.access_observers();
    thread.values = handle.value_observer();
    const std::span<std::byte> stack = handle.stack();
    ThreadStates::set_stack(state, stack.data(), stack.size());
    thread.come_back();
    prepare(thread);
    const bool has_stops = handle.has_stops();
    const std::pair here{handle.coordinate().block, handle.thread()};
    if (has_stops) {
        threads_[here] = &thread;
        watch_lines(thread);
    }
    PyObject* result =
        PyObject_Vectorcall(function_.get(), &PyTuple_GET_ITEM(arguments_.get(), 0),
                            static_cast<std::size_t>(PyTuple_GET_SIZE(arguments_.get())), nullptr);
    if (result != nullptr && result != Py_None) refuse_value(name_, result);
    if (result != nullptr) Py_DECREF(result);
    if (PyErr_Occurred()) settle_exception(thread);
    if (has_stops) {
        unwatch_lines(thread);
        threads_.erase(here);
    }
    clean(thread);
    thread.leave();
    idle_states_.push_back(state);
}

void KernelLaunch::settle_exception(SimulatedThread& thread) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (each_thread_is_traced_ && traceback != nullptr) {  // see tracers.py, below_a_threads_frame()
        auto* first = reinterpret_cast<PyTracebackObject*>(traceback);
        Py_XSETREF(traceback, Py_XNewRef(reinterpret_cast<PyObject*>(first->tb_next)));
    }
    if (traceback != nullptr) PyException_SetTraceback(value, traceback);
    const Reference held_type(type), exception(value), held_traceback(traceback);
    execution::ThreadHandle& handle = *thread.handle;
    if (handle.ending()) return;  // what `finally` blocks raise after the launch is over
    if (PyErr_GivenExceptionMatches(type, thread_ends)) {
        handle.stop_launch(true, chain_of(traceback));
        return;
    }
    Reference settled(PyObject_CallOneArg(settles_.get(), value));
    if (!settled) PyErr_Clear();
    if (settled && PyObject_IsTrue(settled.get()) == 1) {
        if (!ends_launch_) {
            ends_launch_ = Reference::borrowed(value);
            ended_by_ = handle.coordinate();
        }
        handle.stop_launch();
        return;
    }
    note_fault(handle.coordinate(), value, traceback);
    handle.fail(0);
}

void KernelLaunch::note_fault(const findings::ThreadCoordinate& where, PyObject* exception,
                              PyObject* traceback) {
    fault_ = {};
    fault_.message = text_of(exception);
    fault_.kind = kind_of(exception, traceback, fault_.message);
    fault_.exception_type = class_name(exception);
    fault_.location = chain_of(traceback);
    if (raised_ && !(where < raised_by_)) return;
    raised_ = Reference::borrowed(exception);
    raised_by_ = where;
}

void KernelLaunch::describe_fault(findings::Finding& finding) {
    if (finding.kind == FindingKind::stack_overflow) {
        // The thread left its stack, and its thread state, where it overflowed.
        current_thread = observed_thread = nullptr;
        threads_.erase({finding.thread.block, finding.thread.thread});
        ThreadStates::switch_to(host_state_);
        return;
    }
    finding.kind = fault_.kind;
    finding.message = std::move(fault_.message);
    finding.exception_type = std::move(fault_.exception_type);
    finding.location = std::move(fault_.location);
}

std::vector<Reference> KernelLaunch::kernel_frames(Reference innermost) const {
    std::vector<Reference> frames = frames_from(std::move(innermost));
    if (each_thread_is_traced_ && frames.size() > 1)
        frames.pop_back();  // see tracers.py, below_a_threads_frame()
    return frames;
}

std::optional<findings::MemoryObject> KernelLaunch::shared_object_at(std::uint64_t address) const {
    const auto behind = shared_arrays_.upper_bound(address);
    if (behind == shared_arrays_.begin()) return std::nullopt;
    const auto& [low, noted] = *std::prev(behind);
    if (address - low >= noted.bytes) return std::nullopt;
    findings::MemoryObject object;
    object.name = noted.array.name;
    object.space = "shared";
    object.address = low;
    object.bytes = noted.bytes;
    object.offset = static_cast<std::int64_t>(address - low);
    object.element_type = noted.array.element_type;
    if (!object.name.empty()) object.element = noted.array.element_at(address).value_or("");
    return object;
}

std::uint32_t KernelLaunch::site_here() {
    const CodePlace place = current_place();
    if (place == last_place_ && !sites_.empty()) return last_site_;
    auto [known, inserted] = site_of_.try_emplace(place, static_cast<std::uint32_t>(sites_.size()));
    if (inserted) {
        codes_.push_back(Reference::borrowed(reinterpret_cast<PyObject*>(place.code)));
        sites_.push_back(
            chain_of(kernel_frames(Reference::borrowed(reinterpret_cast<PyObject*>(PyEval_GetFrame())))));
    }
    last_place_ = place;
    last_site_ = known->second;
    return last_site_;
}

namespace {

/// (exception or None, tid or None, ctaid or None)
PyObject* raised_at(const Reference& exception, const findings::ThreadCoordinate* place) {
    PyObject* raised = exception ? exception.get() : Py_None;
    if (place == nullptr) return Py_BuildValue("OOO", raised, Py_None, Py_None);
    const findings::Dim3 tid = place->tid, ctaid = place->ctaid;
    return Py_BuildValue("O(III)(III)", raised, tid.x, tid.y, tid.z, ctaid.x, ctaid.y, ctaid.z);
}

}  // namespace

PyObject* KernelLaunch::outcome() const {
    return Py_BuildValue("NN", raised_at(raised_, &raised_by_),
                         raised_at(ends_launch_, ended_by_ ? &*ended_by_ : nullptr));
}

}  // namespace cudasim::pyfiber
