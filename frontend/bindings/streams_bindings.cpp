// Streams as Python sees them: tasks are Python callables, and running them lets go of the GIL in between.
// When work runs and who is told of its errors is simulator/driver/stream_work.h;
// cudasim.streams.stream_work is thin over it.
#include <pybind11/stl.h>
#include <sys/syscall.h>

#include <cstdlib>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/kept_object.h"
#include "frontend/bindings/raised_in_python.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/driver/context.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/driver/stream_work.h"
#include "simulator/findings/writers.h"
#include "simulator/streams/page_watch.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using driver::StreamWork;
using driver::TaskFailure;

void translate(std::exception_ptr thrown) {
    try {
        if (thrown) std::rethrow_exception(std::move(thrown));
    } catch (const RaisedInPython& raised) {
        const py::handle value = *raised.value;
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), value.ptr());
    }
}

class PythonFailure : public TaskFailure {
  public:
    PythonFailure(KeptObject error, KeptObject host) : error_(std::move(error)), host_(std::move(host)) {
        const cpython::HeldGil acquire;
        ends_run_ = PyErr_GivenExceptionMatches(error_->ptr(), PyExc_Exception) == 0;
        status_ = asked([&] { return host_->attr("status_of")(*error_).cast<int>(); });
    }

    [[nodiscard]] int status() const override { return status_; }
    [[nodiscard]] std::string text() const override {
        const cpython::HeldGil acquire;
        return asked([&] { return host_->attr("text_of")(*error_).cast<std::string>(); });
    }
    void add_line(const std::string& line) override {
        const cpython::HeldGil acquire;
        (void)asked([&] { return host_->attr("add_line")(*error_, line); });
    }
    [[noreturn]] void raise() const override { throw RaisedInPython(error_); }
    [[nodiscard]] bool ends_run() const override { return ends_run_; }

  private:
    /// Exceptions of classes that raise in their own attributes or __str__ have none.
    template <typename Question>
    std::invoke_result_t<Question> asked(Question&& question) const {
        try {
            return question();
        } catch (py::error_already_set& error) {
            error.discard_as_unraisable(*error_);
            return {};
        }
    }

    KeptObject error_, host_;
    int status_ = 0;
    bool ends_run_ = false;
};

/// @param host cudasim.streams.stream_work.Host
class PythonHost : public driver::StreamHost {
  public:
    explicit PythonHost(const py::object& host) : host_(kept(host)), deferred_(kept(host.attr("deferred"))) {}

    [[nodiscard]] bool deferred() const override {
        const cpython::HeldGil acquire;
        return (*deferred_)().cast<bool>();
    }

    [[nodiscard]] streams::RunOptions run_options() const override {
        const cpython::HeldGil acquire;
        const auto [policy, seed] = host_->attr("order")().cast<std::pair<std::string, std::uint64_t>>();
        streams::RunOptions options{.seed = seed, .poll = &poll};
        if (policy == "reverse") options.order = streams::StreamOrder::reverse;
        if (policy != "forward" && policy != "reverse" && policy != "lockstep")
            options.order = streams::StreamOrder::random;
        return options;
    }

    [[nodiscard]] std::unique_ptr<TaskFailure> caught() const override {
        try {
            throw;
        } catch (const RaisedInPython& raised) {
            return std::make_unique<PythonFailure>(raised.value, host_);
        } catch (...) {
            return StreamHost::caught();
        }
    }

    void while_running(const std::function<void()>& body) const override { without_gil(body, true); }
    void while_idle(const std::function<void()>& body) const override { without_gil(body, false); }

    void start_callback_thread(std::function<void()> serve) const override {
        const cpython::HeldGil acquire;
        try {
            host_->attr("start_callback_thread")(py::cpp_function(std::move(serve)));
        } catch (const py::error_already_set& error) {
            throw RaisedInPython(kept(error.value()));
        }
    }

  private:
    /// Runs handlers of signals, on the main thread. @throws RaisedInPython
    static bool poll() {
        if (interpreter_is_ending()) return false;
        const cpython::HeldGil acquire;
        if (PyErr_CheckSignals() == 0) return false;
        const py::error_already_set error;
        throw RaisedInPython(kept(error.value()));
    }

    static void without_gil(const std::function<void()>& body, bool in_engine) {
        std::optional<ReleasedGil> released;
        if (PyGILState_Check() != 0) released.emplace(in_engine);
        body();
    }

    KeptObject host_, deferred_;
};

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
        PyException_SetTraceback(error.value().ptr(), Py_None);  // the line of the access comes next
        PyErr_SetObject(error.type().ptr(), error.value().ptr());
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
    module.def("touched_page_at", &watch::touched_at, py::arg("watch"),
               "The address that was touched; 0: none.");
    module.def(
        "watch_pages_again",
        [](int number) {
            watch::go_on(number);
            watch::protect_all();
        },
        py::arg("watch"), "A watch whose memory was touched notices the next access, too.");
    module.def("on_touched_pages", [](py::object listener) {
        touch_listener = new py::object(std::move(listener));
        watch::on_touch(&note_touch);
    });
}

std::function<void()> task_from(py::object callable) {
    return [callable = kept(std::move(callable))] { call(callable); };
}

bool submit(int device, std::uint64_t stream, py::object task, bool synchronous, std::string place) {
    auto work = task_from(std::move(task));
    const ReleasedGil release;
    return StreamWork::of_this_process().submit({device, stream}, std::move(work),
                                                {.synchronous = synchronous, .place = std::move(place)});
}

void add_callback(int device, std::uint64_t stream, py::object callback) {
    const auto callable = kept(std::move(callback));
    const ReleasedGil release;
    StreamWork::of_this_process().add_callback({device, stream}, [callable](int status) {
        const cpython::HeldGil acquire;
        try {
            cpython::parked_at_exit([&] { (*callable)(status); });
        } catch (py::error_already_set& error) {
            error.discard_as_unraisable(*callable);
        }
    });
}

/// Plain functions: launches and copies ask them.
PyObject* streams_are_busy(PyObject*, PyObject*) {
    StreamWork& work = StreamWork::of_this_process();
    return PyBool_FromLong(work.busy() || work.order().is_kept());
}

PyObject* runs_at_once(PyObject*, PyObject* deferred) {
    return PyBool_FromLong(StreamWork::of_this_process().runs_at_once(deferred == Py_True));
}

PyMethodDef streams_are_busy_method{"streams_are_busy", &streams_are_busy, METH_NOARGS,
                                    "streams_are_busy() -> bool\n\n"
                                    "Whether launches have to be enqueued: something waits, or the order of "
                                    "streams is kept."};
PyMethodDef runs_at_once_method{"runs_at_once", &runs_at_once, METH_O,
                                "runs_at_once(arg0: bool) -> bool\n\n"
                                "Whether submit_work() would call its task and do nothing else."};

void add_function(py::module_& module, PyMethodDef& method) {
    module.add_object(method.ml_name, py::reinterpret_steal<py::object>(PyCFunction_New(&method, nullptr)));
}

void bind_events(py::module_& module) {
    using driver::Event;
    py::class_<Event>(module, "StreamEvent",
                      "A point in a stream, and the time at which the stream came there.")
        .def(py::init<int, bool>(), py::arg("device"), py::arg("timing"))
        .def("record",
             [](Event& self, int device, std::uint64_t stream) {
                 StreamWork& work = StreamWork::of_this_process();
                 std::optional<ReleasedGil> released;
                 if (work.busy()) released.emplace();  // the timeline's lock may take a while
                 work.record(self, {device, stream});
             })
        .def_property_readonly("handle", &Event::handle)
        .def("is_complete",
             [](const Event& self) {
                 const ReleasedGil release;
                 return StreamWork::of_this_process().is_complete(self);
             })
        .def("synchronize",
             [](const Event& self) {
                 const ReleasedGil release;
                 StreamWork::of_this_process().synchronize(self);
             })
        .def(
            "hold_up",
            [](const Event& self, int device, std::uint64_t stream) {
                const ReleasedGil release;
                StreamWork::of_this_process().wait_for(streams::StreamKey{device, stream}, self);
            },
            "What is enqueued in the stream from now on runs after the event's point.")
        .def_property_readonly(
            "is_pending",
            [](const Event& self) {
                return self.pending() != nullptr || StreamWork::of_this_process().order().is_kept();
            },
            "Whether waiting for it does anything: its stream has not come to the point, or the order of "
            "streams is kept.")
        .def_static("elapsed_milliseconds", &Event::elapsed_milliseconds);
    module.def("stream_create", &driver::stream_create, py::arg("device"),
               "cuStreamCreate: the handle of a new stream.");
    module.def(
        "stream_destroy",
        [](std::uint64_t handle) {
            const ReleasedGil release;
            StreamWork::of_this_process().destroy_stream(handle);
        },
        "cuStreamDestroy: what is in it runs first.");
    module.def(
        "stream_is_complete",
        [](int device, std::uint64_t stream) {
            const ReleasedGil release;
            return StreamWork::of_this_process().is_complete(streams::StreamKey{device, stream});
        },
        "cuStreamQuery");
    module.def("stream_key", [](int device, std::uint64_t handle) {
        const streams::StreamKey key = driver::stream_key(device, handle);
        return py::make_tuple(key.device, key.handle);
    });
}

}  // namespace

void bind_streams(py::module_& module) {
    py::register_exception_translator(&translate);
    module.def("fail_at_exit", &fail_at_exit, "The exit status of the process will not be 0.");
    bind_page_watch(module);
    bind_events(module);
    add_function(module, streams_are_busy_method);
    add_function(module, runs_at_once_method);
    module.def("set_stream_host",
               [](const py::object& host) { StreamWork::set_host(std::make_shared<PythonHost>(host)); });
    module.def(
        "look_for_races_between_streams",
        [](const std::shared_ptr<driver::Context>& context) {
            const ReleasedGil release;
            context->engine()->look_for_races_between_streams();
        },
        py::arg("context"),
        "From now on the order of operations in streams is noted, and races between those of this device are "
        "looked for.");
    module.def(
        "take_races_of_copies",
        [] {
            std::vector<findings::Finding> found;
            for (const auto& context : driver::Context::all())
                if (const auto engine = context->engine())
                    for (auto& each : engine->take_races_of_copies()) found.push_back(std::move(each));
            py::list result;
            for (const auto& each : found)
                result.append(py::make_tuple(finding_to_python(each), findings::text_report(each, {})));
            return result;
        },
        "Races of copies with kernels and copies in other streams since the last call: (finding, its "
        "report).");
    module.def(
        "touched_by",
        [](const std::shared_ptr<driver::Context>& context, std::uint64_t operation, std::uint64_t address,
           std::uint64_t bytes) {
            const auto touched = context->engine()->touched_by(operation, address, bytes);
            return py::make_tuple(touched.read, touched.written);
        },
        py::arg("context"), py::arg("operation"), py::arg("address"), py::arg("bytes"),
        "Whether the launches of an operation have read and written there.");
    module.def("running_operation", &streams::OperationOrder::running,
               "The number of the operation that the calling thread runs; 0: none.");
    module.def(
        "host_has_waited",
        [](std::uint64_t operation) {
            return StreamWork::of_this_process().order().host_has_waited(operation);
        },
        py::arg("operation"), "Whether what the host does now comes after the operation.");
    module.def(
        "forget_stream_order", [] { StreamWork::of_this_process().order().forget(); },
        "Ends look_for_races_between_streams(): everything so far counts as done.");
    module.def(
        "stream_order_is_kept", [] { return StreamWork::of_this_process().order().is_kept(); },
        "Whether look_for_races_between_streams() was called.");
    module.def("submit_work", &submit, py::arg("device"), py::arg("stream"), py::arg("task"),
               py::arg("synchronous"), py::arg("place"),
               "Calls task() when its turn has come; returns whether that was now.");
    module.def("add_stream_callback", &add_callback, py::arg("device"), py::arg("stream"),
               py::arg("callback"), "Appends callback(status), for the callback thread.");
    module.def("synchronize_stream", [](int device, std::uint64_t stream) {
        StreamWork& work = StreamWork::of_this_process();
        if (work.nothing_to_tell() && !work.order().is_kept()) return;
        const ReleasedGil release;
        work.synchronize(streams::StreamKey{device, stream});
    });
    module.def(
        "synchronize_device",
        [](std::optional<int> device) {
            StreamWork& work = StreamWork::of_this_process();
            if (work.nothing_to_tell() && !work.order().is_kept()) return;
            const ReleasedGil release;
            work.synchronize(device);
        },
        py::arg("device"), "All streams of a device, or of all.");
    module.def(
        "drop_stream_work",
        [](std::optional<int> device) {
            const ReleasedGil release;
            StreamWork::of_this_process().drop(device);
        },
        py::arg("device"), "Forgets the work that waits, of a device or all.");
    module.def("finish_stream_work", [] {
        const ReleasedGil release;
        StreamWork::of_this_process().finish();
    });
}

}  // namespace cudasim::bindings
