// What the launching thread does for Python while a launch runs: signal handlers (E11), progress, and the
// lines that kernels print (V6). The engine calls it without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "debugger/server/server.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/execution/device.h"
#include "simulator/image/large_stack.h"

namespace cudasim::bindings {

/// Who shows how far a launch is: a callable that is given the number of blocks, None while its kernel is
/// being compiled, and returns a display with the methods of cudasim.reports.progress.LaunchProgress; None
/// shows nothing.
struct Progress {
    pybind11::object begin;
    double after_seconds = 0;  ///< shorter launches are not told of
};

/// Serves Python during one launch: signals, printed lines, progress. Constructed and destroyed with the GIL;
/// operator() and write() acquire it.
class HostPoll {
  public:
    explicit HostPoll(const Progress& progress);
    ~HostPoll() { end_progress(std::nullopt); }
    HostPoll(const HostPoll&) = delete;
    HostPoll& operator=(const HostPoll&) = delete;

    /// Runs pending signal handlers and shows progress. What they raised is kept for the end of the launch.
    /// @return whether the launch is to stop
    bool operator()(const execution::LaunchProgress& now);
    /// What a kernel prints, line by line to sys.stdout. What that raised is kept too.
    /// @return false when the launch is to stop
    bool write(std::string_view text);
    /// Ends the display of progress, which says how many blocks are done if that is known. Needs the GIL.
    void end_progress(std::optional<std::uint64_t> blocks_done) noexcept;

    /// Ctrl-C makes the launch stop for its debugger, instead of ending it.
    void let_interrupts_pause(debugger::Server& server) { debugger_ = &server; }

    /// The launch ends with this exception, unless it does already with another one. Needs the GIL.
    void end_with(pybind11::object exception) {
        if (!raised_) raised_ = std::move(exception);
    }

    [[nodiscard]] bool raised() const { return static_cast<bool>(raised_); }
    [[nodiscard]] pybind11::object take() {
        return raised_ ? std::exchange(raised_, pybind11::object()) : pybind11::object(pybind11::none());
    }

  private:
    [[nodiscard]] bool has_debugger() const;
    void show(const execution::LaunchProgress& now);
    void write_lines(std::string_view text);

    const Progress& progress_;
    debugger::Server* debugger_ = nullptr;
    pybind11::object display_;  ///< null until there is something to show
    bool shows_compilation_ = false;
    pybind11::object raised_;
    bool ends_interpreter_;  ///< this thread ends it, and launches from a finalizer
};

/// Compiles with the GIL released, meanwhile serving Python. @param compile given the image::HostPoll
/// @throws error_already_set what signal handlers raised
template <typename Compile>
auto while_compiling(const Progress& progress, Compile&& compile) {
    HostPoll host(progress);
    const image::HostPoll poll = [&](double seconds) {
        return host(execution::LaunchProgress{.seconds = seconds, .compiling = true});
    };
    try {
        const ReleasedGil release;
        auto result = compile(poll);
        if (!host.raised()) return result;  // else it was finished before it noticed
    } catch (const image::Cancelled&) {
        if (!host.raised()) throw;  // the interpreter ends, and this thread has nothing to come back to
    }
    const pybind11::object raised = host.take();
    PyErr_SetObject(pybind11::type::handle_of(raised).ptr(), raised.ptr());
    throw pybind11::error_already_set();
}

}  // namespace cudasim::bindings
