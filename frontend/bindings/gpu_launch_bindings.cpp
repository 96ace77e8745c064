// Recorded launches on a real GPU (gpu_backend/launches), in a process of its own.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/bindings/launches.h"
#include "gpu_backend/comparison/report_json.h"
#include "gpu_backend/launches/compared_launch.h"
#include "gpu_backend/launches/explanation.h"
#include "gpu_backend/launches/gpu_outcome.h"
#include "gpu_backend/launches/prepared_record.h"
#include "gpu_backend/launches/result_writer.h"
#include "gpu_backend/recorded_code.h"
#include "gpu_backend/runner/runner_process.h"
#include "simulator/findings/writers.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using driver::LaunchRecord;
using gpu_launches::ComparedArray;
using gpu_launches::GpuOutcome;
using runner::RunnerProcess;

py::bytes to_bytes(std::string_view text) {
    return {text.data(), text.size()};
}

/// The GPU's process. `stop` may raise, as Python's signal handlers do.
GpuOutcome run(RunnerProcess& gpu, const LaunchRecord& record, double seconds) {
    runner::RunOptions options;
    options.seconds = seconds;
    options.stop = [] {
        const py::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        return false;
    };
    const ReleasedGil release;
    return gpu_launches::run_on_gpu(gpu, record, options);
}

/// (name, address, type, shape, strides, exact, rtol, atol, ulp)
using ArrayTuple =
    std::tuple<std::string, std::uint64_t, std::string, std::vector<std::uint64_t>, std::vector<std::int64_t>,
               bool, std::optional<double>, std::optional<double>, std::optional<double>>;

std::vector<ComparedArray> arrays_of(const std::vector<ArrayTuple>& given) {
    std::vector<ComparedArray> arrays;
    for (const auto& [name, address, type, shape, strides, exact, rtol, atol, ulp] : given) {
        ComparedArray array;
        array.view = {.name = name,
                      .address = address,
                      .type = comparison::parse_element_type(type),
                      .shape = shape,
                      .strides = strides};
        array.tolerance = {.exact = exact, .rtol = rtol, .atol = atol, .ulp = ulp};
        arrays.push_back(std::move(array));
    }
    return arrays;
}

py::bytes compare(const LaunchRecord& record, const GpuOutcome& outcome,
                  const std::vector<ArrayTuple>& given) {
    const ReleasedGil release;
    const std::string json =
        comparison::to_json(gpu_launches::compare_launch(record, outcome, arrays_of(given)));
    const py::gil_scoped_acquire acquire;
    return to_bytes(json);
}

/// What Python's signal handlers raise ends the experiments, and is raised when they are over.
py::bytes explain(const LaunchRecord& record, const GpuOutcome& outcome, const std::vector<ArrayTuple>& given,
                  RunnerProcess* gpu, double seconds, double gpu_seconds) {
    std::exception_ptr raised;
    gpu_launches::ExplainOptions options{.gpu = gpu, .seconds = seconds, .gpu_seconds = gpu_seconds};
    options.stop = [&raised] {
        const py::gil_scoped_acquire acquire;
        if (!raised && PyErr_CheckSignals() != 0) raised = std::make_exception_ptr(py::error_already_set());
        return raised != nullptr;
    };
    std::string json;
    {
        const ReleasedGil release;
        json = gpu_launches::to_json(gpu_launches::explain(record, outcome, arrays_of(given), options));
    }
    if (raised) std::rethrow_exception(raised);
    return to_bytes(json);
}

/// What threads reported on the GPU, as findings::json_report().
py::bytes faults(const LaunchRecord& record, const GpuOutcome& outcome) {
    std::vector<findings::Finding> found;
    if (record.gpu && !outcome.result.faults.empty()) {
        const auto extents = [](const execution::Dim3& dim) { return findings::Dim3{dim.x, dim.y, dim.z}; };
        try {
            found = gpu_backend::faults_of(outcome.result.faults, gpu_backend::fault_sites_of(*record.gpu),
                                           record.display_name, extents(record.configuration.grid),
                                           extents(record.configuration.block));
        } catch (const gpu_backend::DamagedFaultSlots& damaged) {
            throw driver::RecordError(damaged.what());
        }
    }
    return to_bytes(findings::json_report(found));
}

py::object content(const GpuOutcome& outcome, std::size_t index) {
    if (index >= outcome.after.size()) throw py::index_error("the record has no such allocation");
    return outcome.after[index] ? py::object(to_bytes(outcome.after[index]->text())) : py::object(py::none());
}

/// The code for a GPU of a record.
py::dict gpu_code(const LaunchRecord& record) {
    if (!record.gpu) throw py::value_error("the record has no code for a GPU");
    py::dict result;
    result["ptx"] = record.gpu->ptx;
    result["entry"] = record.gpu->entry;
    result["architecture"] = record.gpu->architecture;
    result["cooperative"] = record.gpu->cooperative;
    result["libdevice"] = record.gpu->libdevice;
    result["refusal"] = record.gpu->refusal;
    return result;
}

/// (name, (major, minor) of its compute capability, (major, minor) of the driver's CUDA)
using GpuTuple =
    std::tuple<std::string, std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>>;

void add_result(gpu_launches::ResultWriter& writer, const LaunchRecord& record, const GpuTuple& gpu,
                const std::vector<std::optional<py::bytes>>& after, const std::string& printed,
                const std::string& error) {
    records::GpuResult result;
    result.status = error.empty() ? records::GpuStatus::ran : records::GpuStatus::faulted;
    result.message = error;
    result.printed = printed;
    result.gpu = std::get<0>(gpu);
    std::tie(result.capability_major, result.capability_minor) = std::get<1>(gpu);
    std::tie(result.driver_major, result.driver_minor) = std::get<2>(gpu);
    std::vector<std::optional<driver::Content>> contents;
    for (const auto& bytes : after)
        contents.push_back(bytes ? std::optional(driver::Content(std::string_view(*bytes))) : std::nullopt);
    const ReleasedGil release;
    writer.add(record, std::move(result), contents);
}

void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const runner::NoRunner& none) {
        const auto error = py::module_::import("cudasim.errors").attr("NoGpuError");
        py::set_error(error, error(none.what(), none.exit_status));
    }
}

}  // namespace

void bind_gpu_launches(py::module_& module) {
    module.def(
        "add_gpu_code",
        [](LaunchRecord& record, const std::string& architecture, bool report_faults) {
            const ReleasedGil release;
            gpu_launches::add_gpu_code(record,
                                       {.architecture = architecture, .report_faults = report_faults});
        },
        py::arg("record"), py::arg("architecture"), py::arg("report_faults") = true,
        "Adds the kernel as PTX to a record, for GPUs from this architecture on.");
    module.def("gpu_code", &gpu_code, py::arg("record"), "What add_gpu_code() has added.");
    module.def(
        "find_gpu_runner", [] { return runner::find_runner().string(); },
        "The program cudasim-gpu-run; empty where there is none.");
    py::class_<GpuOutcome>(module, "GpuOutcome", "What a GPU made of a recorded launch.")
        .def_property_readonly("number", [](const GpuOutcome& self) { return self.result.number; })
        .def_property_readonly("kernel", [](const GpuOutcome& self) { return self.result.kernel; })
        .def_property_readonly(
            "status", [](const GpuOutcome& self) { return std::string(name_of(self.result.status)); })
        .def_property_readonly("code", [](const GpuOutcome& self) { return self.result.code; })
        .def_property_readonly("function", [](const GpuOutcome& self) { return self.result.function; })
        .def_property_readonly("message", [](const GpuOutcome& self) { return self.result.message; })
        .def_property_readonly("gpu", [](const GpuOutcome& self) { return self.result.gpu; })
        .def_property_readonly("compute_capability",
                               [](const GpuOutcome& self) {
                                   return py::make_tuple(self.result.capability_major,
                                                         self.result.capability_minor);
                               })
        .def_property_readonly("driver",
                               [](const GpuOutcome& self) {
                                   return py::make_tuple(self.result.driver_major, self.result.driver_minor);
                               })
        .def_property_readonly("milliseconds",
                               [](const GpuOutcome& self) { return self.result.milliseconds; })
        .def_property_readonly("load_milliseconds",
                               [](const GpuOutcome& self) { return self.result.load_milliseconds; })
        .def_property_readonly("same_addresses",
                               [](const GpuOutcome& self) { return self.result.same_addresses; })
        .def_property_readonly("printed",
                               [](const GpuOutcome& self) { return to_bytes(self.result.printed); })
        .def_property_readonly("stray_bytes", [](const GpuOutcome& self) { return self.result.stray_bytes; })
        .def_property_readonly("stray",
                               [](const GpuOutcome& self) {
                                   py::list result;
                                   for (const auto& write : self.result.stray)
                                       result.append(py::make_tuple(write.address, write.bytes));
                                   return result;
                               })
        .def("content", &content, py::arg("index"));
    py::class_<RunnerProcess>(module, "GpuRunner", "A GPU of this machine, used from a process of its own.")
        .def(py::init([](const std::string& program, const std::string& libcuda) {
                 return std::make_unique<RunnerProcess>(
                     runner::RunnerSettings{.program = program, .libcuda = libcuda});
             }),
             py::arg("program"), py::arg("libcuda") = "")
        .def(
            "start",
            [](RunnerProcess& self) {
                const runner::RunningGpu gpu = [&] {
                    const ReleasedGil release;
                    return self.start();
                }();
                return py::make_tuple(gpu.name, py::make_tuple(gpu.capability_major, gpu.capability_minor));
            },
            "Starts the process if it does not run yet; returns the GPU's name and its compute capability.")
        .def_property_readonly("process", &RunnerProcess::process)
        .def("run", &run, py::arg("record"), py::arg("seconds"), "Runs a record that has code for a GPU.");
    py::class_<gpu_launches::ResultFile>(module, "GpuResultFile", "What cudasim-gpu-run has written.")
        .def(py::init([](const std::string& path) {
            const ReleasedGil release;
            return std::make_unique<gpu_launches::ResultFile>(path);
        }))
        .def_property_readonly("results", &gpu_launches::ResultFile::results)
        .def_property_readonly("finished", &gpu_launches::ResultFile::finished)
        .def(
            "result",
            [](const gpu_launches::ResultFile& self, std::size_t index) {
                return GpuOutcome{.result = self.result(index), .after = {}};
            },
            py::arg("index"), "A result without its memory.")
        .def(
            "outcome",
            [](const gpu_launches::ResultFile& self, std::size_t index, const LaunchRecord& record) {
                const ReleasedGil release;
                return self.outcome(index, record);
            },
            py::arg("index"), py::arg("record"));
    py::class_<gpu_launches::ResultWriter>(module, "GpuResultWriter",
                                           "Writes what a GPU made of launches that it ran by itself.")
        .def(py::init([](const std::string& path) {
            const ReleasedGil release;
            return std::make_unique<gpu_launches::ResultWriter>(path);
        }))
        .def("add", &add_result, py::arg("record"), py::arg("gpu"), py::arg("after"), py::arg("printed"),
             py::arg("error"),
             "gpu: (name, compute capability, driver's CUDA version), versions as pairs. after: for each of "
             "record.memory "
             "what the GPU left there, None where that is not known. error: how the launch failed, or empty.")
        .def(
            "add_outcome",
            [](gpu_launches::ResultWriter& self, const LaunchRecord& record, const GpuOutcome& outcome) {
                const ReleasedGil release;
                self.add(record, outcome.result, outcome.after);
            },
            py::arg("record"), py::arg("outcome"), "What cudasim-gpu-run has made of it.")
        .def("close", &gpu_launches::ResultWriter::close);
    module.def("compare_with_outcome", &compare, py::arg("record"), py::arg("outcome"), py::arg("arrays"),
               "Compares the memory after a launch: JSON with the members verdict, arrays, outside, printed. "
               "Arrays are "
               "(name, address, type, shape, strides, exact, rtol, atol, ulp).");
    module.def(
        "explain_launch", &explain, py::arg("record"), py::arg("outcome"), py::arg("arrays"),
        py::arg("gpu") = nullptr, py::arg("seconds") = 30.0, py::arg("gpu_seconds") = 60.0,
        "JSON of the explanations of what differs (gpu_backend/launches/explanation.h), the likeliest first. "
        "Without a GPU, it is not asked again. Arrays as for compare_launch().");
    module.def("gpu_faults", &faults, py::arg("record"), py::arg("outcome"),
               "JSON of the findings that threads reported on the GPU: the lowest thread first.");
    py::register_exception_translator(&translate);
}

}  // namespace cudasim::bindings
