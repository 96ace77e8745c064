// Stops (simulator/execution/stop.h) for handlers that are Python objects. The handler is called on the
// launching thread, with the GIL.
#include <pybind11/stl.h>

#include <array>
#include <optional>

#include "frontend/bindings/launches.h"
#include "simulator/execution/stop.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using execution::StoppedLaunch;
using execution::ThreadState;
using Thread = std::pair<std::uint64_t, std::uint32_t>;  ///< linear indices: block, thread in it

execution::ThreadRef ref(Thread thread) {
    return {thread.first, thread.second};
}

/// Of all launches of the process; None: no launch has stops. Accessed with the GIL only.
py::object& current_handler() {
    static auto* handler = new py::object(py::none());  // outlives the interpreter
    return *handler;
}

const char* name_of(ThreadState state) {
    constexpr std::array names{"not started", "stopped", "can run", "spins",
                               "at barrier",  "in warp", "faulted", "over", "absent"};
    return names[static_cast<std::size_t>(state)];
}

/// What Python has of a stopped launch. Python may keep it for longer than the engine does.
class StopView {
  public:
    /// @param keeps_gil the simulated threads run Python code, so they run with the GIL
    StopView(StoppedLaunch& launch, bool keeps_gil) : launch_(&launch), keeps_gil_(keeps_gil) {}
    void expire() { launch_ = nullptr; }

    /// @throws std::runtime_error when the handler has returned
    [[nodiscard]] StoppedLaunch& launch() const {
        if (launch_ == nullptr)
            throw std::runtime_error("this launch is not stopped any more: its handler has returned");
        return *launch_;
    }

    [[nodiscard]] const char* run(Thread thread) const {
        StoppedLaunch& stopped = launch();
        std::optional<ReleasedGil> released;
        if (!keeps_gil_) released.emplace(false);
        return name_of(stopped.run(ref(thread)));
    }
    [[nodiscard]] py::object read(Thread thread, std::uint64_t address, std::size_t bytes) const {
        std::string data(bytes, '\0');
        const bool read = launch().read(ref(thread), address, std::as_writable_bytes(std::span(data)));
        return read ? py::object(py::bytes(data)) : py::object(py::none());
    }
    [[nodiscard]] py::list variables(Thread thread) const {
        py::list result;
        for (const auto& variable : launch().variables(ref(thread)))
            result.append(variable_to_python(variable));
        return result;
    }
    [[nodiscard]] py::tuple coordinate(Thread thread) const {
        const auto place = launch().coordinate(ref(thread));
        return py::make_tuple(py::make_tuple(place.tid.x, place.tid.y, place.tid.z),
                              py::make_tuple(place.ctaid.x, place.ctaid.y, place.ctaid.z));
    }

  private:
    StoppedLaunch* launch_;
    bool keeps_gil_;
};

class PythonStopHandler final : public execution::StopHandler {
  public:
    PythonStopHandler(py::object handler, HostPoll& poll, bool keeps_gil)
        : handler_(std::move(handler)), poll_(poll), keeps_gil_(keeps_gil) {}

    void launch_begins(StoppedLaunch& launch) override { call("launch_begins", launch); }
    void stopped(StoppedLaunch& launch) override { call("stopped", launch); }

  private:
    /// What it raises ends the launch, which raises it.
    void call(const char* method, StoppedLaunch& launch) {
        if (interpreter_is_ending()) {
            launch.end();
            return;
        }
        const cpython::HeldGil held;
        const auto view = std::make_shared<StopView>(launch, keeps_gil_);
        try {
            handler_.attr(method)(view);
        } catch (const py::error_already_set& error) {
            if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
            poll_.end_with(error.value());
            launch.end();
        }
        view->expire();
    }

    py::object handler_;
    HostPoll& poll_;
    bool keeps_gil_;
};

py::object set_stop_handler(py::object handler) {
    return std::exchange(current_handler(), std::move(handler));
}

}  // namespace

std::unique_ptr<execution::StopHandler> stop_handler_for(HostPoll& poll, bool keeps_gil) {
    if (current_handler().is_none()) return nullptr;
    return std::make_unique<PythonStopHandler>(current_handler(), poll, keeps_gil);
}

void bind_stops(py::module_& module) {
    module.def("set_stop_handler", &set_stop_handler, py::arg("handler").none(true),
               "What launches that begin from now on are stopped by, or None: an object with the methods "
               "launch_begins(StoppedLaunch) and stopped(StoppedLaunch). Returns the one before.");
    py::class_<StopView, std::shared_ptr<StopView>>(
        module, "StoppedLaunch",
        "A launch whose threads hold; usable until the handler returns. Threads are (block, thread in it), "
        "linear.")
        .def(
            "stop_at",
            [](const StopView& self, const std::string& file, std::uint32_t line, bool stops) {
                self.launch().stop_at(file, line, stops);
            },
            py::arg("file"), py::arg("line"), py::arg("stops") = true)
        .def(
            "stop_everywhere", [](const StopView& self, bool stops) { self.launch().stop_everywhere(stops); },
            py::arg("stops") = true)
        .def(
            "stop_thread",
            [](const StopView& self, Thread thread, bool stops) {
                return self.launch().stop_thread(ref(thread), stops);
            },
            py::arg("thread"), py::arg("stops") = true)
        .def_property_readonly("stopped_thread",
                               [](const StopView& self) {
                                   const auto thread = self.launch().stopped_thread();
                                   return Thread{thread.block, thread.thread};
                               })
        .def_property_readonly("blocks", [](const StopView& self) { return self.launch().blocks(); })
        .def_property_readonly("threads_of_block",
                               [](const StopView& self) { return self.launch().threads_of_block(); })
        .def(
            "state",
            [](const StopView& self, Thread thread) { return name_of(self.launch().state(ref(thread))); },
            py::arg("thread"))
        .def("coordinate", &StopView::coordinate, py::arg("thread"), "((tid), (ctaid))")
        .def(
            "location",
            [](const StopView& self, Thread thread) {
                return call_chain_to_python(self.launch().location(ref(thread)));
            },
            py::arg("thread"))
        .def("variables", &StopView::variables, py::arg("thread"))
        .def(
            "set_variable",
            [](const StopView& self, Thread thread, std::uint32_t frame, const std::string& name,
               const py::bytes& value) {
                return self.launch().set_variable(ref(thread), frame, name, bytes_of(value));
            },
            py::arg("thread"), py::arg("frame"), py::arg("name"), py::arg("value"))
        .def("read", &StopView::read, py::arg("thread"), py::arg("address"), py::arg("bytes"),
             "What the memory holds, or None where the thread may not access all of it.")
        .def(
            "write",
            [](const StopView& self, Thread thread, std::uint64_t address, const py::bytes& value) {
                return self.launch().write(ref(thread), address, bytes_of(value));
            },
            py::arg("thread"), py::arg("address"), py::arg("value"))
        .def("run", &StopView::run, py::arg("thread"), "The thread goes on; its state afterwards.")
        .def("end", [](const StopView& self) { self.launch().end(); })
        .def("poll", [](const StopView& self) { return self.launch().poll(); })
        .def_property_readonly("over", [](const StopView& self) { return self.launch().over(); });
}

}  // namespace cudasim::bindings
