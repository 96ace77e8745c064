// What libraries in CUDA C++ need of Python when they are loaded into its process
// (simulator/driver/host_language.h).
#include <string>
#include <utility>

#include "frontend/bindings/raised_in_python.h"
#include "simulator/driver/host_language.h"
#include "simulator/driver/stream_work.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

class PythonLanguage final : public driver::HostLanguage {
  public:
    explicit PythonLanguage(const py::object& host)
        : make_device_(kept(host.attr("make_device"))),
          launched_(kept(host.attr("launched"))),
          printed_(kept(host.attr("printed"))) {}

    void make_device(int ordinal) override { call(make_device_, ordinal); }

    void launched(execution::LaunchResult result, const std::vector<image::SourceFile>& sources) override {
        if (result.findings.empty() || interpreter_is_ending()) return;
        try {
            const cpython::HeldGil acquire;
            const py::object report =
                py::cast(LaunchReport{std::move(result.findings), sources, result.blocks_run, py::none()});
            call(launched_, report);
        } catch (const RaisedInPython&) {
            driver::StreamWork::of_this_process().tell_later();
        }
    }

    void printed(std::string_view text) override {
        if (!interpreter_is_ending()) call(printed_, std::string(text));
    }

  private:
    KeptObject make_device_, launched_, printed_;
};

}  // namespace

void bind_host_language(py::module_& module) {
    module.def(
        "set_host_language",
        [](const py::object& host) { driver::HostLanguage::set(std::make_unique<PythonLanguage>(host)); },
        py::arg("host"),
        "Who serves libraries in CUDA C++: an object with make_device(), launched() and printed(), as "
        "cudasim.launch.cuda_cpp_libraries has them.");
}

}  // namespace cudasim::bindings
