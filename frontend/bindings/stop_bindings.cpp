// Stops (simulator/execution/stop.h) for handlers that are Python objects. The handler is called on the
// launching thread, with the GIL.
#include <pybind11/stl.h>

#include <utility>

#include "debugger/server/server.h"
#include "frontend/bindings/launches.h"
#include "frontend/bindings/stop_view.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using execution::StoppedLaunch;
using execution::ThreadState;
using Thread = StopView::Thread;

execution::ThreadRef ref(Thread thread) {
    return StopView::ref(thread);
}

/// Of all launches of the process; None: no launch has stops. Accessed with the GIL only.
py::object& current_handler() {
    static auto* handler = new py::object(py::none());  // outlives the interpreter
    return *handler;
}

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

/// The debugger has nothing to say of kernels that Python runs: pdb does.
void say_that_python_mode_has_pdb(debugger::Server& server, const std::string& kernel) {
    static bool said = false;  // with the GIL
    if (std::exchange(said, true)) return;
    server.tell("cudasim: " + (kernel.empty() ? std::string("a kernel") : "kernel " + kernel) +
                " runs in Python mode, where this debugger does not stop; use pdb there\n");
}

py::object set_stop_handler(py::object handler) {
    return std::exchange(current_handler(), std::move(handler));
}

}  // namespace

std::unique_ptr<execution::StopHandler> stop_handler_for(HostPoll& poll, bool keeps_gil,
                                                         const std::vector<image::SourceFile>& sources) {
    if (!current_handler().is_none())
        return std::make_unique<PythonStopHandler>(current_handler(), poll, keeps_gil);
    debugger::Server* server = debugger::Server::running();
    if (server == nullptr) return nullptr;
    if (keeps_gil) {
        if (server->has_client()) say_that_python_mode_has_pdb(*server, {});
        return nullptr;
    }
    poll.let_interrupts_pause(*server);
    return server->handler(sources);
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
        .def_property_readonly("configuration", &StopView::configuration, "(grid, block), extents each")
        .def("coordinate", &StopView::coordinate, py::arg("thread"), "((tid), (ctaid))")
        .def(
            "location",
            [](const StopView& self, Thread thread) {
                return call_chain_to_python(self.launch().location(ref(thread)));
            },
            py::arg("thread"))
        .def("variables", &StopView::variables, py::arg("thread"))
        .def(
            "declares",
            [](const StopView& self, Thread thread, std::uint32_t frame, const std::string& name) {
                return self.launch().declares({ref(thread), frame}, name);
            },
            py::arg("thread"), py::arg("frame"), py::arg("name"),
            "Whether the function has such a variable, assigned or not.")
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
        .def(
            "start_block",
            [](const StopView& self, std::uint64_t block) { return self.launch().start_block(block); },
            py::arg("block"), "Begins a block before its turn. Why it does not, or an empty text.")
        .def("end", [](const StopView& self) { self.launch().end(); })
        .def("poll", [](const StopView& self) { return self.launch().poll(); })
        .def_property_readonly("over", [](const StopView& self) { return self.launch().over(); });
}

}  // namespace cudasim::bindings
