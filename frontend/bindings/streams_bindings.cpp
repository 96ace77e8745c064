// Streams as Python sees them (simulator/streams): tasks are Python callables, and running them lets go of
// the GIL in between. The package deals with what a task raises (cudasim.streams.stream_work), except for
// what is to end the program: KeyboardInterrupt and its like stop a run and leave it.
#include <pybind11/stl.h>
#include <sys/syscall.h>

#include <cstdlib>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/driver/enqueued_work.h"
#include "simulator/driver/event.h"
#include "simulator/streams/page_watch.h"
#include "simulator/streams/timeline.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using streams::Operation;
using streams::OperationPtr;
using streams::Outcome;
using streams::StreamKey;
using streams::Timeline;

/// A Python object that may be let go of without the GIL.
std::shared_ptr<py::object> kept(py::object object) {
    return {new py::object(std::move(object)), [](py::object* owned) {
                if (interpreter_is_ending()) return;  // nobody may take the GIL any more
                const cpython::HeldGil acquire;
                delete owned;
            }};
}

/// What ended a run early; raised when it returns.
thread_local py::object* raised = nullptr;

Outcome call(const py::object& callable, int status) {
    const cpython::HeldGil acquire;
    try {
        return cpython::parked_at_exit([&] { return Outcome{callable(status).cast<int>(), false}; });
    } catch (const py::error_already_set& error) {
        if (raised != nullptr) *raised = error.value();
        return {999, true};
    }
}

streams::Task task_from(const py::object& callable) {
    if (callable.is_none()) return {};
    return [callable = kept(callable)](int status) { return call(*callable, status); };
}

/// @param most_idle_seconds of waiting for callbacks; 0: no end
streams::RunOptions run_options(const std::string& policy, std::uint64_t seed, double most_idle_seconds = 0) {
    streams::RunOptions options;
    options.seed = seed;
    if (policy == "reverse") options.order = streams::StreamOrder::reverse;
    if (policy == "random") options.order = streams::StreamOrder::random;
    options.poll = [most_idle_seconds, begin = std::optional<streams::Clock::time_point>()]() mutable {
        const auto now = streams::Clock::now();
        if (!begin) begin = now;
        if (most_idle_seconds > 0 && now - *begin > std::chrono::duration<double>(most_idle_seconds))
            return true;
        if (interpreter_is_ending()) return false;
        const cpython::HeldGil acquire;
        if (PyErr_CheckSignals() == 0) return false;
        const py::error_already_set error;
        if (raised != nullptr) *raised = error.value();
        return true;
    };
    return options;
}

/// Runs `body` without the GIL; what a task or a signal handler raised leaves it.
template <typename Body>
void run_without_gil(Body&& body) {
    py::object exception;
    py::object* const outer = std::exchange(raised, &exception);
    {
        const ReleasedGil release;
        body();
    }
    raised = outer;
    if (!exception) return;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw py::error_already_set();
}

/// What is told of touched memory, once the thread runs Python again: callable(watch). Leaked: signals
/// outlive modules.
py::object* touch_listener = nullptr;

/// Makes the process end with status 1 instead of 0, which functions registered with Python's atexit cannot
/// do.
void fail_at_exit() {
    static const bool registered = on_exit(
                                       [](int status, void*) {
                                           if (status == 0) std::exit(1);
                                       },
                                       nullptr) == 0;
    (void)registered;
}

int tell_of_touch(void* watch) {
    try {
        if (touch_listener != nullptr) (*touch_listener)(reinterpret_cast<std::intptr_t>(watch));
        return 0;
    } catch (py::error_already_set& error) {
        error.restore();
        return -1;
    }
}

/// Runs in the signal handler. Pending calls run on the main thread only; what other threads touched is
/// reported when the watch ends.
void note_touch(int watch) {
    if (::syscall(SYS_gettid) == ::getpid())
        Py_AddPendingCall(&tell_of_touch, reinterpret_cast<void*>(static_cast<std::intptr_t>(watch)));
}

void bind_page_watch(py::module_& module) {
    namespace watch = streams::page_watch;
    module.def(
        "watch_pages",
        [](std::uintptr_t address, std::size_t bytes, bool writes_only, bool own_pages) {
            return watch::begin(address, bytes, writes_only ? watch::Access::write : watch::Access::any,
                                own_pages);
        },
        py::arg("address"), py::arg("bytes"), py::arg("writes_only"), py::arg("own_pages"),
        "Begins to watch memory; returns a number, -1 when it cannot be watched.");
    module.def("unwatch_pages", &watch::end, "Ends a watch; returns whether the memory was touched.");
    module.def("open_watched_pages", &watch::open_all);
    module.def("protect_watched_pages", &watch::protect_all);
    module.def("on_touched_pages", [](py::object listener) {
        touch_listener = new py::object(std::move(listener));
        watch::on_touch(&note_touch);
    });
}

OperationPtr enqueue(Timeline& timeline, int device, std::uint64_t handle, const py::object& task,
                     const std::optional<double>& callback_after_seconds, std::vector<OperationPtr> after) {
    streams::Work work{.task = task_from(task), .after = std::move(after)};
    if (callback_after_seconds) {
        work.callback = true;
        work.due = streams::Clock::now() + std::chrono::duration_cast<streams::Clock::duration>(
                                               std::chrono::duration<double>(*callback_after_seconds));
    }
    const ReleasedGil release;
    return timeline.enqueue({device, handle}, std::move(work));
}

void wait_for_enqueued_work(const std::shared_ptr<Timeline>& timeline, py::object synchronize) {
    driver::wait_for_enqueued_work(
        {.timeline = timeline, .synchronize = [callable = kept(std::move(synchronize))](int device) {
             const cpython::HeldGil acquire;
             (void)cpython::parked_at_exit([&] { return (*callable)(device); });
         }});
}

void bind_events(py::module_& module) {
    using driver::Event;
    py::class_<Event>(module, "StreamEvent",
                      "A point in a stream, and the time at which the stream came there.")
        .def(py::init<int, bool>(), py::arg("device"), py::arg("timing"))
        .def("record",
             [](Event& self, Timeline& timeline, int device, std::uint64_t stream, bool nothing_waits) {
                 std::optional<ReleasedGil> released;
                 if (!nothing_waits) released.emplace();  // the timeline's lock may take a while
                 self.record(timeline, {device, stream}, nothing_waits);
             })
        .def_property_readonly("pending", &Event::pending)
        .def_static("elapsed_milliseconds", &Event::elapsed_milliseconds);
    module.def("stream_key", [](int device, std::uint64_t handle) {
        const StreamKey key = driver::stream_key(device, handle);
        return py::make_tuple(key.device, key.handle);
    });
}

}  // namespace

void bind_streams(py::module_& module) {
    module.def("fail_at_exit", &fail_at_exit, "The exit status of the process will not be 0.");
    bind_page_watch(module);
    py::class_<Operation, OperationPtr>(module, "StreamOperation",
                                        "A point in a stream, and the work that leads there.")
        .def_property_readonly("done", &Operation::done);
    py::class_<Timeline, std::shared_ptr<Timeline>>(module, "Timeline", "What is enqueued in all streams.")
        .def(py::init<>())
        .def("enqueue", &enqueue, py::arg("device"), py::arg("stream"), py::arg("task"), py::kw_only(),
             py::arg("callback_after_seconds") = py::none(), py::arg("after") = std::vector<OperationPtr>{},
             "Appends a task, which is called with a status and returns one, or None for a point without "
             "work.")
        .def("tail",
             [](Timeline& self, int device, std::uint64_t stream) {
                 const ReleasedGil release;
                 return self.tail({device, stream});
             })
        .def(
            "tails",
            [](Timeline& self, std::optional<int> device) {
                const ReleasedGil release;
                return self.tails(device);
            },
            py::arg("device") = py::none())
        .def_property_readonly("idle", &Timeline::idle)
        .def(
            "drop",
            [](Timeline& self, std::optional<int> device) {
                const ReleasedGil release;
                self.drop(device);
            },
            py::arg("device") = py::none())
        .def(
            "run",
            [](Timeline& self, const std::vector<OperationPtr>& targets, const std::string& policy,
               std::uint64_t seed, double most_idle_seconds) {
                run_without_gil([&] { self.run(targets, run_options(policy, seed, most_idle_seconds)); });
            },
            py::arg("targets"), py::arg("policy"), py::arg("seed"), py::arg("most_idle_seconds") = 0.0)
        .def("waits_for_callback",
             [](Timeline& self, const OperationPtr& operation) {
                 const ReleasedGil release;
                 return self.waits_for_callback(operation);
             })
        .def("next_callback",
             [](Timeline& self, double seconds) {
                 const ReleasedGil release(false);
                 return self.next_callback(std::chrono::milliseconds(static_cast<long>(1000 * seconds)));
             })
        .def("run_callback",
             [](Timeline& self, const OperationPtr& callback, const std::string& policy, std::uint64_t seed) {
                 run_without_gil([&] { self.run_callback(callback, run_options(policy, seed)); });
             });
    module.def(
        "wait_for_enqueued_work", &wait_for_enqueued_work, py::arg("timeline"), py::arg("synchronize"),
        "Synchronous calls wait for this work from now on: they call synchronize(device) while anything "
        "is enqueued. What it raises leaves the call that waits.");
    bind_events(module);
}

}  // namespace cudasim::bindings
