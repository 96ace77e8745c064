// See host_poll.h.
#include "frontend/bindings/host_poll.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "frontend/bindings/released_gil.h"

namespace py = pybind11;

namespace cudasim::bindings {

HostPoll::HostPoll(const Progress& progress)
    : progress_(progress), ends_interpreter_(interpreter_is_ending()) {}

bool HostPoll::operator()(const execution::LaunchProgress& now) {
    if (interpreter_is_ending()) return !ends_interpreter_;
    const py::gil_scoped_acquire acquire;
    try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (now.seconds >= progress_.after_seconds && !progress_.begin.is_none()) show(now);
        return false;
    } catch (const py::error_already_set& error) {
        raised_ = error.value();
        return true;
    }
}

void HostPoll::show(const execution::LaunchProgress& now) {
    // A debugger would step into the display, and has the terminal.
    if (!py::module_::import("sys").attr("gettrace")().is_none()) return;
    if (!display_) display_ = progress_.begin(now.blocks);
    display_.attr("show")(now.blocks_done, now.seconds);
}

bool HostPoll::write(std::string_view text) {
    if (interpreter_is_ending() || raised()) return !raised();
    const py::gil_scoped_acquire acquire;
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
        PyObject* line =
            PyUnicode_DecodeUTF8(text.data() + begin, static_cast<Py_ssize_t>(end - begin), "replace");
        if (!line) throw py::error_already_set();
        write_text(py::reinterpret_steal<py::object>(line));
        begin = end;
    }
}

void HostPoll::end_progress(std::optional<std::uint64_t> blocks_done) noexcept {
    if (!display_) return;
    const py::object display = std::exchange(display_, py::object());
    try {
        display.attr("close")(blocks_done);
    } catch (const py::error_already_set& error) {
        if (!raised()) raised_ = error.value();  // Ctrl-C
    }
}

}  // namespace cudasim::bindings
