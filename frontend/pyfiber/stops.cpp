// See stops.h; and what a handler sees of a thread that is not running: its frames and their variables.
#include "frontend/pyfiber/stops.h"

#include "frontend/cpython/code_objects.h"
#include "frontend/cpython/frame_locals.h"
#include "frontend/cpython/tracing.h"
#include "frontend/pyfiber/code_places.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_launch.h"

namespace cudasim::pyfiber {

namespace {

int on_event(PyObject* object, PyFrameObject* frame, int event, PyObject* argument);

/// In the place of the trace function that is set, which it will call. That may be none.
void take_place(SimulatedThread& thread) {
    const cpython::TraceFunction host = cpython::trace_function(thread.state);
    const Reference object = Reference::borrowed(host ? host.object : Py_None);
    thread.hosts_trace = host.function;
    PyEval_SetTrace(&on_event, object.get());
}

/// False with an exception set.
bool call_hosts_function(SimulatedThread& thread, PyObject* object, PyFrameObject* frame, int event,
                         PyObject* argument) {
    const Reference held = Reference::borrowed(object);
    const bool succeeded = thread.hosts_trace(object, frame, event, argument) == 0;
    if (cpython::trace_function(thread.state).function == &on_event) return succeeded;
    // It has set another one: a tracer that begins with the thread's first event, or ends.
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    take_place(thread);
    PyErr_Restore(type, value, traceback);
    return succeeded;
}

int on_event(PyObject* object, PyFrameObject* frame, int event, PyObject* argument) {
    if (current_thread == nullptr) return 0;
    SimulatedThread& thread = *current_thread;
    if (thread.hosts_trace != nullptr && !call_hosts_function(thread, object, frame, event, argument))
        return -1;
    return event != PyTrace_LINE || thread.launch->stop_at_line(thread, frame) ? 0 : -1;
}

}  // namespace

void watch_lines(SimulatedThread& thread) {
    take_place(thread);
}

void unwatch_lines(SimulatedThread& thread) {
    const cpython::TraceFunction here = cpython::trace_function(thread.state);
    if (here.function != &on_event) return;
    const Reference object = Reference::borrowed(here.object);
    PyEval_SetTrace(thread.hosts_trace, thread.hosts_trace != nullptr ? object.get() : nullptr);
}

bool KernelLaunch::stop_at_line(SimulatedThread& thread, PyFrameObject* frame) {
    execution::ThreadHandle& handle = *thread.handle;
    if (handle.ending()) return true;
    const Reference code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const int inside =
        PySet_Contains(stop_files_.get(), reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    if (inside < 0) PyErr_Clear();
    if (inside <= 0) return true;
    const std::uint32_t site = site_here();
    if (sites_[site].empty() || !handle.wants_stop(sites_[site].front())) return true;
    thread.leave();
    handle.stop(sites_[site].front(), site);
    thread.come_back();
    return !handle.ending() || end_thread(thread);
}

// What a handler sees. The launching thread calls it, with its own thread state -----------------------------

SimulatedThread* KernelLaunch::find(const findings::ThreadCoordinate& thread) const {
    const auto known = threads_.find({thread.block, thread.thread});
    return known != threads_.end() ? known->second : nullptr;
}

std::vector<Reference> KernelLaunch::frames_of(const SimulatedThread& thread) const {
    return kernel_frames(Reference(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(thread.state))));
}

std::optional<findings::CallChain> KernelLaunch::location_of(const findings::ThreadCoordinate& thread) const {
    const SimulatedThread* known = find(thread);
    return known != nullptr ? std::optional(chain_of(frames_of(*known))) : std::nullopt;
}

namespace {

/// A function of cudasim.python_mode.stopped_values; null without an exception.
Reference helper(const char* name) {
    Reference module(PyImport_ImportModule("cudasim.python_mode.stopped_values"));
    Reference function(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    if (!function) PyErr_Clear();
    return function;
}

bool copy_bytes(PyObject* object, std::vector<std::byte>& target) {
    if (!PyBytes_Check(object)) return false;
    const auto* data = reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(object));
    target.assign(data, data + PyBytes_GET_SIZE(object));
    return true;
}

/// @param described of stopped_values.py. @param extent gets the bytes that the variable refers to
bool read_description(PyObject* described, findings::VariableValue& variable, std::uint64_t& extent) {
    PyObject *type = nullptr, *bytes = nullptr, *text = nullptr;
    unsigned long long element_bytes = 0, address = 0, extent_bytes = 0;
    if (described == nullptr || !PyTuple_Check(described) ||
        !PyArg_ParseTuple(described, "UOUKIKK", &type, &bytes, &text, &element_bytes, &variable.dimensions,
                          &address, &extent_bytes))
        return false;
    extent = extent_bytes;
    variable.type = text_of(type);
    variable.text = text_of(text);
    variable.known = copy_bytes(bytes, variable.bytes) || !variable.text.empty();
    variable.element_bytes = element_bytes;
    variable.contents_address = address;
    return true;
}

/// The names of the arguments of a frame's function, in order; null without an exception.
Reference argument_names(const Reference& frame) {
    const Reference code(
        reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame.get()))));
    const auto* object = reinterpret_cast<const PyCodeObject*>(code.get());
    const Reference names(PyObject_GetAttrString(code.get(), "co_varnames"));
    Reference arguments(
        names ? PySequence_GetSlice(names.get(), 0, object->co_argcount + object->co_kwonlyargcount)
              : nullptr);
    if (!arguments) PyErr_Clear();
    return arguments;
}

/// The ordinal of the variable among the arguments, from 1; 0: it is none.
std::uint32_t argument_number(const Reference& arguments, PyObject* name) {
    const Py_ssize_t count = arguments ? PyTuple_GET_SIZE(arguments.get()) : 0;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(arguments.get(), i), name) == 0)
            return static_cast<std::uint32_t>(i + 1);
    return 0;
}

/// (name, value) of each variable of a frame; null without an exception.
Reference variables_in(const Reference& frame) {
    Reference items(cpython::local_variables(reinterpret_cast<PyFrameObject*>(frame.get())));
    if (!items) PyErr_Clear();
    return items;
}

}  // namespace

std::vector<findings::VariableValue> KernelLaunch::variables_of(
    const findings::ThreadCoordinate& thread) const {
    std::vector<findings::VariableValue> variables;
    const SimulatedThread* known = find(thread);
    const Reference describe = helper("described");
    if (known == nullptr || !describe) return variables;
    std::uint32_t number = 0;
    for (const Reference& frame : frames_of(*known)) {
        const Reference items = variables_in(frame), arguments = argument_names(frame);
        for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) {
            PyObject* item = PyList_GET_ITEM(items.get(), i);
            PyObject* name = PyTuple_GET_ITEM(item, 0);
            findings::VariableValue variable;
            variable.name = text_of(name);
            variable.frame = number;
            variable.argument = argument_number(arguments, name);
            if (variable.name.starts_with('.')) continue;  // a comprehension's own
            const Reference described(PyObject_CallOneArg(describe.get(), PyTuple_GET_ITEM(item, 1)));
            std::uint64_t extent = 0;
            const bool read = read_description(described.get(), variable, extent);
            PyErr_Clear();
            if (!read) continue;
            if (extent != 0 && extent <= findings::most_bytes_on_chip &&
                keeps_memory(thread, variable.contents_address, extent)) {
                const auto* first = reinterpret_cast<const std::byte*>(variable.contents_address);
                variable.contents.assign(first, first + extent);
                variable.contents_known = true;
            }
            variables.push_back(std::move(variable));
        }
        ++number;
    }
    return variables;
}

bool KernelLaunch::set_variable(const findings::ThreadCoordinate& thread, std::uint32_t frame,
                                std::string_view name, std::span<const std::byte> bytes) {
    const SimulatedThread* known = find(thread);
    const Reference restored = helper("restored");
    if (known == nullptr || !restored) return false;
    const std::vector<Reference> frames = frames_of(*known);
    if (frame >= frames.size()) return false;
    const Reference items = variables_in(frames[frame]);
    const Reference data(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                                   static_cast<Py_ssize_t>(bytes.size())));
    for (Py_ssize_t i = 0; items && data && i < PyList_GET_SIZE(items.get()); ++i) {
        PyObject* item = PyList_GET_ITEM(items.get(), i);
        if (text_of(PyTuple_GET_ITEM(item, 0)) != name) continue;
        const Reference value(
            PyObject_CallFunctionObjArgs(restored.get(), PyTuple_GET_ITEM(item, 1), data.get(), nullptr));
        const bool set = value && value.get() != Py_None &&
                         cpython::set_local_variable(reinterpret_cast<PyFrameObject*>(frames[frame].get()),
                                                     PyTuple_GET_ITEM(item, 0), value.get());
        PyErr_Clear();
        return set;
    }
    PyErr_Clear();
    return false;
}

namespace {

bool lies_in(PyObject* object, std::uint64_t address, std::size_t bytes) {
    if (Py_TYPE(object) != kernel_array_type) return false;
    const auto* array = reinterpret_cast<const KernelArray*>(object);  // contiguous, as it was made
    auto size = static_cast<std::uint64_t>(array->itemsize);
    for (int axis = 0; axis < array->ndim; ++axis) size *= static_cast<std::uint64_t>(array->extent(axis));
    const std::uint64_t first = array->data.number();
    return bytes <= size && address >= first && address - first <= size - bytes;
}

}  // namespace

bool KernelLaunch::keeps_memory(const findings::ThreadCoordinate& thread, std::uint64_t address,
                                std::size_t bytes) const {
    if (const auto block = blocks_.find(thread.block); block != blocks_.end())
        for (const SharedArray& shared : block->second.arrays)
            if (lies_in(shared.array.get(), address, bytes)) return true;
    if (const SimulatedThread* known = find(thread))
        for (const LocalArray& local : known->local_arrays)
            if (lies_in(local.array, address, bytes)) return true;
    return false;
}

void KernelLaunch::hold(bool begins) {
    const std::lock_guard lock(watch_mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (begins)
        held_since_ = now;
    else if (held_since_)
        held_time_ += now - *std::exchange(held_since_, std::nullopt);
}

}  // namespace cudasim::pyfiber
