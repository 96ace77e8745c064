// The debug server (debugger/server/server.h) for Python, and Python's evaluator of expressions for it. The
// evaluator is called on launching threads, with the GIL, while all simulated threads hold.
#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

#include "debugger/control/evaluator.h"
#include "debugger/expressions/kernel_predicate.h"
#include "debugger/server/server.h"
#include "frontend/bindings/bindings.h"
#include "frontend/bindings/condition_compiler.h"
#include "frontend/bindings/host_frames.h"
#include "frontend/bindings/stop_view.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using debugger::Evaluation;
using debugger::Server;
using execution::StoppedLaunch;
using execution::ThreadRef;

/// How often signals are looked at while the program waits for its debugger.
constexpr std::chrono::milliseconds poll_interval{20};

/// Calls methods of a Python object: cudasim.debugging.evaluation.
class PythonEvaluator final : public debugger::Evaluator {
  public:
    explicit PythonEvaluator(py::object object) : object_(std::move(object)) {}

    Evaluation evaluate(StoppedLaunch& launch, ThreadRef thread, std::uint32_t frame,
                        const std::string& expression) override {
        return call(launch, thread, [&](const py::object& view, const py::object& where) {
            return object_.attr("evaluate")(view, where, frame, expression);
        });
    }
    Evaluation assign(StoppedLaunch& launch, ThreadRef thread, std::uint32_t frame, const std::string& target,
                      const std::string& value) override {
        return call(launch, thread, [&](const py::object& view, const py::object& where) {
            return object_.attr("assign")(view, where, frame, target, value);
        });
    }
    std::vector<std::pair<std::string, std::string>> names_around(StoppedLaunch& launch, ThreadRef thread,
                                                                  std::uint32_t frame) override {
        std::vector<std::pair<std::string, std::string>> names;
        if (interpreter_is_ending()) return names;
        const cpython::HeldGil held;
        const auto view = std::make_shared<StopView>(launch, false);
        try {
            names = py::cast<std::vector<std::pair<std::string, std::string>>>(object_.attr("names_around")(
                py::cast(view), py::make_tuple(thread.block, thread.thread), frame));
        } catch (const py::error_already_set&) {
            names.clear();  // some names are better than an error while a word is typed
        }
        view->expire();
        return names;
    }
    std::vector<findings::SourceLocation> host_frames() override { return bindings::host_frames(); }
    void interrupt() override {
        debugger::interrupt_compiled_evaluations();
        const std::uint64_t number = running_.load();
        if (number == 0 || interrupted_.exchange(number) == number) return;
        try {
            std::thread([this, number] { raise_in(number); }).detach();  // it may wait long for the GIL
        } catch (const std::system_error&) {
            interrupted_.store(0);  // no thread can be made now
        }
    }

  private:
    /// The evaluation that runs, while it runs. With the GIL.
    class Running {
      public:
        explicit Running(PythonEvaluator& evaluator) : evaluator_(evaluator) {
            evaluator.thread_ = PyThread_get_thread_ident();
            evaluator.running_.store(++evaluator.evaluations_);
        }
        ~Running() {
            evaluator_.running_.store(0);
            if (evaluator_.interrupted_.load() ==
                evaluator_.evaluations_)  // it is not for the user's program
                PyThreadState_SetAsyncExc(evaluator_.thread_, nullptr);
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

      private:
        PythonEvaluator& evaluator_;
    };

    void raise_in(std::uint64_t number) {
        if (interpreter_is_ending()) return;
        const cpython::HeldGil held;
        if (running_.load() == number) PyThreadState_SetAsyncExc(thread_, PyExc_KeyboardInterrupt);
    }

    template <typename Call>
    Evaluation call(StoppedLaunch& launch, ThreadRef thread, Call&& method) {
        Evaluation result;
        if (interpreter_is_ending()) {
            result.text = "Python is ending";
            return result;
        }
        const cpython::HeldGil held;
        const auto view = std::make_shared<StopView>(launch, false);
        try {
            const Running running(*this);
            const py::object value = method(py::cast(view), py::make_tuple(thread.block, thread.thread));
            std::tie(result.text, result.type, result.truth, result.truth_doubt) =
                py::cast<std::tuple<std::string, std::string, bool, std::string>>(value);
            result.ok = true;
        } catch (const py::error_already_set& error) {
            result.interrupted = error.matches(PyExc_KeyboardInterrupt);
            result.text = result.interrupted ? std::string(debugger::interrupted_text) : text_of(error);
        } catch (const py::cast_error& error) {  // text that UTF-8 cannot have
            result.text = error.what();
        }
        view->expire();
        return result;
    }

    py::object object_;
    std::atomic<std::uint64_t> running_{0};      ///< the number of the evaluation; 0: none runs
    std::atomic<std::uint64_t> interrupted_{0};  ///< the last one that was to be interrupted
    std::uint64_t evaluations_ = 0;              ///< with the GIL
    unsigned long thread_ = 0;                   ///< that evaluates; with the GIL
};

Server& server() {
    Server* running = Server::running();
    if (running == nullptr) throw std::runtime_error("this process has no debugger");
    return *running;
}

void wait_until_configured() {
    Server& waiting_for = server();
    while (!waiting_for.may_begin()) {
        {
            const ReleasedGil release(false);
            std::this_thread::sleep_for(poll_interval);
        }
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
}

}  // namespace

void bind_debugger(py::module_& module) {
    module.def(
        "debugger_connect",
        [](const std::string& path) {
            const ReleasedGil release(false);
            Server::connect(path);
        },
        py::arg("path"),
        "Connects to the debugger that listens at this Unix socket; RuntimeError when none does.");
    module.def(
        "debugger_serve", [](int descriptor) { Server::serve(descriptor); }, py::arg("descriptor"),
        "Serves the debugger at the other end of a connected socket, which it owns.");
    module.def(
        "debugger_listen",
        [](const std::string& path) {
            const ReleasedGil release(false);
            Server::listen(path);
        },
        py::arg("path"),
        "Debuggers may connect to this Unix socket at any time; RuntimeError when it cannot be made.");
    module.def(
        "debugger_set_program", [](std::string name) { server().set_program(std::move(name)); },
        py::arg("name"), "What debuggers are told of the program.");
    module.def("debugger_is_there", [] { return Server::running() != nullptr; });
    module.def(
        "debugger_stop_at_entry", [] { server().stop_at_entry(); },
        "The next launch stops at its first statement.");
    module.def("debugger_wait_until_configured", &wait_until_configured,
               "Returns when the debugger has set what the program is to begin with, or has gone.");
    module.def(
        "debugger_set_evaluator",
        // Kept for the process's life: launches of other threads may be using it.
        [](py::object evaluator) { server().set_evaluator(new PythonEvaluator(std::move(evaluator))); },
        py::arg("evaluator"), "Who evaluates expressions: an object with evaluate() and assign().");
    module.def(
        "debugger_set_condition_compiler",
        [](py::object compiler) {
            server().set_expression_compiler(new_condition_compiler(std::move(compiler)));
        },
        py::arg("compiler"),
        "Who compiles the conditions of breakpoints: an object with names_in() and compile(), as "
        "cudasim.debugging.conditions has them.");
    module.def(
        "debugger_keep_history", [](std::uint64_t bytes) { server().keep_history(bytes); }, py::arg("bytes"),
        "What one launch may keep so that it can go backwards; 0: nothing.");
    module.def(
        "debugger_end",
        [] {
            Server* running = Server::running();
            const ReleasedGil release(false);
            if (running != nullptr) running->end();
        },
        "Tells the debugger that the program has ended.");
}

}  // namespace cudasim::bindings
