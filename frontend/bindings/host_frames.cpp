// See host_frames.h.
#include "frontend/bindings/host_frames.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "frontend/cpython/finalization.h"

namespace py = pybind11;

namespace cudasim::bindings {

std::vector<findings::SourceLocation> host_frames() {
    std::vector<findings::SourceLocation> frames;
    if (cpython::interpreter_is_ending()) return frames;
    const cpython::HeldGil held;
    try {
        for (const py::handle frame :
             py::module_::import("cudasim.reports.host_frames").attr("host_frames")()) {
            const auto [function, file, line] =
                py::cast<std::tuple<std::string, std::string, std::uint32_t>>(frame);
            frames.push_back({file, function, line, 0});
        }
    } catch (const py::error_already_set&) {
        frames.clear();  // a backtrace of the kernel, and a record without one, are better than none
    }
    return frames;
}

}  // namespace cudasim::bindings
