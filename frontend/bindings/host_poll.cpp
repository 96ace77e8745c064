// See host_poll.h.
#include "frontend/bindings/host_poll.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "frontend/bindings/released_gil.h"

namespace py = pybind11;

namespace cudasim::bindings {

namespace {

/// Surrogates, as in text_caster.h, and U+FFFD for bytes that are not text.
py::str printed_text(std::string_view text) {
    const auto size = static_cast<Py_ssize_t>(text.size());
    PyObject* line = PyUnicode_DecodeUTF8(text.data(), size, "surrogatepass");
    if (line == nullptr) {
        PyErr_Clear();
        line = PyUnicode_DecodeUTF8(text.data(), size, "replace");
    }
    if (line == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(line);
}

/// The line with escapes for what the encoding does not have.
py::object escaped(const py::str& line, const py::object& encoding) {
    const py::object name = encoding.is_none() ? py::str("utf-8") : encoding;
    return line.attr("encode")(name, "backslashreplace").attr("decode")(name);
}

}  // namespace

HostPoll::HostPoll(const Progress& progress)
    : progress_(progress), ends_interpreter_(interpreter_is_ending()) {}

bool HostPoll::operator()(const execution::LaunchProgress& now) {
    if (interpreter_is_ending()) return !ends_interpreter_;
    if (raised()) return true;  // while the kernel was compiled, which ended before it noticed
    const cpython::HeldGil acquire;
    try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        // Under a debugger the display would be drawn over its prompt.
        if (!has_debugger() && now.seconds >= progress_.after_seconds && !progress_.begin.is_none())
            show(now);
        return false;
    } catch (const py::error_already_set& error) {
        if (has_debugger() && !now.compiling && error.matches(PyExc_KeyboardInterrupt)) {
            debugger_->interrupt();
            return false;
        }
        raised_ = error.value();
        return true;
    }
}

bool HostPoll::has_debugger() const {
    return debugger_ != nullptr && debugger_ == debugger::Server::running() && debugger_->has_client();
}

void HostPoll::show(const execution::LaunchProgress& now) {
    // A debugger would step into the display, and has the terminal.
    if (!py::module_::import("sys").attr("gettrace")().is_none()) return;
    if (display_ && shows_compilation_ != now.compiling) {
        std::exchange(display_, py::object()).attr("close")(py::none());
    }
    if (!display_) display_ = now.compiling ? progress_.begin(py::none()) : progress_.begin(now.blocks);
    shows_compilation_ = now.compiling;
    display_.attr("show")(now.blocks_done, now.seconds);
}

bool HostPoll::write(std::string_view text) {
    if (interpreter_is_ending() || raised()) return !raised();
    const cpython::HeldGil acquire;
    try {
        if (display_) display_.attr("make_room")();
        write_lines(text);
        return true;
    } catch (const py::error_already_set& error) {
        raised_ = error.value();
        return false;
    }
}

void HostPoll::write_lines(std::string_view text) {
    const py::object out = py::module_::import("sys").attr("stdout");
    if (out.is_none()) return;
    const py::object write_text = out.attr("write");
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
        const py::str line = printed_text(text.substr(begin, end - begin));
        try {
            write_text(line);
        } catch (const py::error_already_set& error) {
            // What a kernel prints never ends its launch: a GPU's output knows no encoding that could refuse
            // it.
            if (!error.matches(PyExc_UnicodeEncodeError)) throw;
            write_text(escaped(line, py::getattr(out, "encoding", py::none())));
        }
        begin = end;
    }
}

void HostPoll::end_progress(std::optional<std::uint64_t> blocks_done) noexcept {
    if (!display_) return;
    if (shows_compilation_) blocks_done.reset();
    const py::object display = std::exchange(display_, py::object());
    try {
        display.attr("close")(blocks_done);
    } catch (const py::error_already_set& error) {
        if (!raised()) raised_ = error.value();  // Ctrl-C
    }
}

}  // namespace cudasim::bindings
