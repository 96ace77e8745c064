// Records of launches: making them, their files, and running one again (simulator/driver).
#include <pybind11/stl.h>

#include <filesystem>
#include <utility>

#include "debugger/control/core_source.h"
#include "debugger/cores/record_as_core.h"
#include "debugger/server/server.h"
#include "frontend/bindings/host_frames.h"
#include "frontend/bindings/launches.h"
#include "simulator/driver/core_files.h"
#include "simulator/driver/record_file.h"
#include "simulator/driver/replay.h"
#include "simulator/findings/writers.h"
#include "simulator/image/code_addresses.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using driver::LaunchRecord;
using execution::LaunchOptions;

/// Decides which launches are recorded, and gets the records. Accessed with the GIL only.
struct Recorder {
    py::object wants;  ///< callable(kernel's name) → number of the launch, 0: not this one
    py::object take;   ///< callable(LaunchRecord or None, number, why there is none)
    std::string version;
    driver::CaptureOptions options;
};
// Never destroyed: Python may be gone when the process ends.
std::unique_ptr<Recorder>& recorder = *new std::unique_ptr<Recorder>;

void record_launches(const py::object& wants, const py::object& take, const std::string& version,
                     bool keep_after) {
    recorder =
        wants.is_none() ? nullptr : std::make_unique<Recorder>(Recorder{wants, take, version, {keep_after}});
}

py::bytes to_bytes(std::string_view text) {
    return {text.data(), text.size()};
}

py::dict options_to_python(const LaunchOptions& options) {
    py::dict result;
    for (const auto& row : driver::launch_option_table())
        result[py::str(std::string(row.name))] = python_value(row.get(options));
    return result;
}

py::tuple extents(const execution::Dim3& dim) {
    return py::make_tuple(dim.x, dim.y, dim.z);
}

py::list memory_to_python(const LaunchRecord& record) {
    py::list result;
    for (const auto& range : record.memory) {
        py::dict entry;
        entry["address"] = range.address;
        entry["bytes"] = range.bytes;
        entry["label"] = range.label;
        entry["kind"] = std::string(driver::name_of(range.kind));
        entry["read_only"] = range.read_only;
        entry["globals"] = range.globals;
        entry["recorded"] = range.before.has_value();
        entry["recorded_after"] = range.after.has_value();
        result.append(std::move(entry));
    }
    return result;
}

/// The content of an allocation, or None where it was not recorded.
py::object content(const LaunchRecord& record, std::size_t index, bool after) {
    if (index >= record.memory.size()) throw py::index_error("the record has no such allocation");
    const auto& range = record.memory[index];
    const auto& content = after ? range.after : range.before;
    if (!content) return py::none();
    return to_bytes(content->text());
}

image::KernelImage image_of(const LaunchRecord& record) {
    const ReleasedGil release;
    return image::KernelImage::deserialise(record.image.bytes());
}

driver::Content content_of(const image::KernelImage& image) {
    const auto bytes = image.serialise();
    return driver::Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

/// What a debugger writes as a core file while a launch of a program stands.
class CaptureAsCore final : public debugger::CoreSource {
  public:
    CaptureAsCore(driver::LaunchCapture& capture, const image::KernelImage& image)
        : capture_(capture), image_(image) {}

    void write(const std::string& path, const std::vector<findings::Finding>& errors) const override {
        LaunchRecord record = capture_.before_launch();
        record.image = content_of(image_);
        record.host_frames = bindings::host_frames();
        driver::write_core(path, std::move(record), errors);
    }

  private:
    driver::LaunchCapture& capture_;
    const image::KernelImage& image_;
};

/// A record's memory on a device, for one launch.
class RestoredLaunch {
  public:
    RestoredLaunch(const LaunchRecord& record, const LaunchOptions& options, const Progress& progress,
                   std::shared_ptr<SimulatedDevice> device)
        : record_(record), options_(options), progress_(progress), device_(std::move(device)) {
        restored_ = while_compiling(progress_, [&](const image::HostPoll& poll) {
            LaunchOptions served = options;
            served.poll_host = [&poll](const execution::LaunchProgress& now) { return poll(now.seconds); };
            return driver::in_call("cuModuleLoadData", [&] {
                return std::make_unique<driver::Restored>(*device_, record_, served);
            });
        });
    }
    ~RestoredLaunch() {
        const ReleasedGil release;
        restored_.reset();
    }
    RestoredLaunch(const RestoredLaunch&) = delete;
    RestoredLaunch& operator=(const RestoredLaunch&) = delete;

    py::object launch() {
        if (record_.runs_in_front_end()) throw py::value_error("the record's kernel runs in Python mode");
        printed_.clear();
        LaunchOptions options = options_;
        return launch_with(
            Runs::compiled_code, options, progress_, image_sources(),
            [&](const LaunchOptions& in_force) {
                const debugger::RecordAsCore source(record_);
                const debugger::CoreSource::OfThisThread offered(source);
                LaunchOptions tee = in_force;
                tee.write_output = [&, write = in_force.write_output](std::string_view text) {
                    printed_ += text;
                    return write(text);
                };
                auto result = device_->launch(restored_->module(), record_.kernel, record_.configuration,
                                              restored_->parameters(), tee);
                for (auto& finding : result.findings) finding.kernel = record_.display_name;
                return result;
            },
            [&](const execution::LaunchResult& result, bool finished) {
                result_ = result;
                finished_ = finished;
            });
    }

    py::list compare() {
        if (!result_) throw py::value_error("nothing was launched");
        return differences(*result_, finished_, printed_);
    }
    py::list compare_host(const BoundHostPlan& plan, const std::string& printed) {
        if (!plan.result) throw py::value_error("nothing was launched");
        return differences(*plan.result, plan.finished, printed);
    }
    [[nodiscard]] py::bytes parameters() const {
        const auto bytes = restored_->parameters();
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    [[nodiscard]] std::uint64_t relocated(std::uint64_t address) const {
        return restored_->relocated(address);
    }
    [[nodiscard]] bool same_addresses() const { return restored_->same_addresses(); }

  private:
    std::vector<image::SourceFile> image_sources() const {
        const ReleasedGil release;
        return image::KernelImage::deserialise(record_.image.bytes()).sources();
    }
    py::list differences(const execution::LaunchResult& result, bool finished, const std::string& printed) {
        std::vector<driver::Difference> found;
        {
            const ReleasedGil release;
            found = driver::compare(*device_, record_, *restored_, result, finished, printed);
        }
        py::list list;
        for (const auto& each : found) {
            py::dict entry;
            entry["what"] = each.what;
            entry["text"] = each.text;
            entry["memory"] = each.memory;
            entry["first"] = each.first;
            entry["count"] = each.count;
            list.append(std::move(entry));
        }
        return list;
    }

    LaunchRecord record_;
    LaunchOptions options_;
    Progress progress_;
    std::shared_ptr<SimulatedDevice> device_;
    std::unique_ptr<driver::Restored> restored_;
    std::optional<execution::LaunchResult> result_;
    bool finished_ = false;
    std::string printed_;
};

/// @param why_not gets the reason where there is no record
std::optional<LaunchRecord> finished_record(driver::LaunchCapture& capture,
                                            const execution::LaunchResult& result, bool finished,
                                            std::string& why_not) {
    try {
        return capture.finish(result, finished);
    } catch (const driver::RecordError& error) {
        why_not = error.what();
        return std::nullopt;
    }
}

void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const driver::RecordError& failure) {
        const auto error = py::module_::import("cudasim.errors").attr("RecordError");
        py::set_error(error, py::cast(failure.what()));
    }
}

}  // namespace

py::object python_value(const driver::OptionValue& value) {
    return std::visit([](const auto& each) -> py::object { return py::cast(each); }, value);
}

driver::OptionValue option_value(const py::handle& value) {
    if (PyBool_Check(value.ptr())) return py::cast<bool>(value);
    if (PyFloat_Check(value.ptr())) return py::cast<double>(value);
    if (PyUnicode_Check(value.ptr())) return py::cast<std::string>(value);
    return py::cast<std::uint64_t>(value);
}

std::uint64_t number_to_record(const driver::LaunchPlan& plan) {
    return recorder == nullptr ? 0 : py::cast<std::uint64_t>(recorder->wants(plan.display_name));
}

bool captures_launches() {
    if (driver::CoreFiles::of_this_process().wanted()) return true;
    const debugger::Server* server = debugger::Server::running();
    return server != nullptr && server->has_client();
}

py::object launch_recorded(BoundPlan& bound, std::span<const std::byte> parameters, std::uint64_t number) {
    driver::LaunchPlan& plan = bound.plan;
    auto& cores = driver::CoreFiles::of_this_process();
    const bool leaves_core = cores.wanted();
    LaunchRecord described{.version = number != 0 ? recorder->version : cores.settings().version,
                           .number = number != 0 ? number : 1,
                           .kernel = plan.kernel,
                           .display_name = plan.display_name,
                           .configuration = plan.configuration,
                           .options = plan.options,
                           .arguments = plan.arguments,
                           .parameters = {parameters.begin(), parameters.end()}};
    if (number != 0) described.options.workers = 1;
    std::optional<LaunchRecord> record;
    std::string not_recorded;
    const driver::CaptureOptions capture_options =
        number != 0 ? recorder->options
                    : (leaves_core ? cores.capture_options() : driver::CaptureOptions{.only_failures = true});
    std::optional<driver::LaunchCapture> capture;
    driver::CoreFile core;
    const LaunchOptions chosen = described.options;
    auto report = launch_with(
        Runs::compiled_code, chosen, bound.progress, plan.image.sources(),
        [&](const LaunchOptions& options) {
            capture.emplace(*plan.device, std::move(described), plan.loaded.get(),
                            image::wide_constants(plan.image), capture_options);
            const CaptureAsCore source(*capture, plan.image);
            const debugger::CoreSource::OfThisThread offered(source);
            LaunchOptions tee = options;
            tee.observers.add(*capture);
            tee.write_output = [&](std::string_view text) {
                capture->print(text);
                return options.write_output(text);
            };
            return driver::run(plan, parameters, tee);
        },
        [&](const execution::LaunchResult& result, bool finished) {
            if (!capture->wanted()) return;
            record = finished_record(*capture, result, finished, not_recorded);
            if (record) {
                record->image = content_of(plan.image);
                record->host_frames = host_frames();
            }
            if (!leaves_core || !finished || result.error() == nullptr) return;
            if (record)
                core = cores.write(*record);
            else
                core.problem = not_recorded;
        });
    if (!report.is_none()) py::cast<LaunchReport&>(report).core = std::move(core);
    if (number != 0 && recorder != nullptr)
        recorder->take(record ? py::cast(std::move(*record)) : py::none(), number, not_recorded);
    return report;
}

py::object launch_recorded(BoundHostPlan& bound, execution::HostKernel& kernel) {
    std::optional<driver::LaunchCapture> capture;
    bound.record.reset();
    bound.not_recorded.clear();
    bound.result.reset();
    auto wanted = std::exchange(bound.to_record, std::nullopt);
    return launch_with(
        Runs::python_code, bound.plan.options, bound.progress, bound.plan.sources,
        [&](const LaunchOptions& options) {
            LaunchOptions observed = options;
            if (wanted) {
                capture.emplace(*bound.plan.device, std::move(wanted->described), nullptr,
                                std::move(wanted->roots), wanted->options);
                observed.observers.add(*capture);
            }
            return driver::run(bound.plan, kernel, observed);
        },
        [&](const execution::LaunchResult& result, bool finished) {
            if (capture) bound.record = finished_record(*capture, result, finished, bound.not_recorded);
            if (bound.keeps_result) bound.result = result;
            bound.finished = finished;
        });
}

void record_as(BoundHostPlan& bound, std::uint64_t number, const std::string& display_name,
               const std::vector<std::pair<std::string, std::string>>& arguments, const py::bytes& parameters,
               const py::bytes& front_end, const std::vector<std::uint64_t>& roots,
               const std::string& version, bool keep_after) {
    const auto bytes = bytes_of(parameters);
    LaunchRecord described{.version = version,
                           .number = number,
                           .display_name = display_name,
                           .configuration = bound.plan.configuration,
                           .options = bound.plan.options,
                           .parameters = {bytes.begin(), bytes.end()}};
    const auto text = bytes_of(front_end);
    described.front_end =
        driver::Content(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
    for (const auto& [name, type] : arguments) described.arguments.push_back({name, type});
    bound.to_record = HostRecording{std::move(described), roots, {keep_after}};
}

py::object take_record(BoundHostPlan& bound) {
    if (!bound.not_recorded.empty())
        throw driver::RecordError(std::exchange(bound.not_recorded, std::string()));
    auto record = std::exchange(bound.record, std::nullopt);
    return record ? py::cast(std::move(*record)) : py::none();
}

void bind_records(py::module_& module) {
    module.def(
        "write_cores",
        [](const std::string& folder, std::uint64_t most_files, std::uint64_t most_bytes,
           const std::string& version) {
            driver::CoreFiles::of_this_process().set(
                driver::core_settings(folder, most_files, most_bytes, version));
        },
        py::arg("folder"), py::arg("most_files"), py::arg("most_bytes"), py::arg("version"),
        "Launches that fail from now on leave core files in the folder; where it is empty, only if CUDA's "
        "own "
        "variables of the environment ask for them.");
    module.def("record_launches", &record_launches, py::arg("wants"), py::arg("take") = py::none(),
               py::arg("version") = "", py::arg("keep_after") = false,
               "Compiled launches for which wants(kernel's name) gives a number are recorded and handed to "
               "take(record or None, number, why there is none). wants=None ends it.");
    module.def("recording", [] { return recorder != nullptr; }, "Whether record_launches() is in force.");
    py::class_<LaunchRecord>(module, "LaunchRecord", "One launch, complete and movable.")
        .def_readonly("version", &LaunchRecord::version)
        .def_readonly("number", &LaunchRecord::number)
        .def_readonly("kernel", &LaunchRecord::kernel)
        .def_readonly("display_name", &LaunchRecord::display_name)
        .def_property_readonly("grid",
                               [](const LaunchRecord& self) { return extents(self.configuration.grid); })
        .def_property_readonly("block",
                               [](const LaunchRecord& self) { return extents(self.configuration.block); })
        .def_property_readonly(
            "dynamic_shared_bytes",
            [](const LaunchRecord& self) { return self.configuration.dynamic_shared_bytes; })
        .def_property_readonly("cluster",
                               [](const LaunchRecord& self) {
                                   const auto& cluster = self.configuration.cluster;
                                   return cluster ? std::optional(extents(*cluster)) : std::nullopt;
                               })
        .def_readonly("configuration", &LaunchRecord::configuration)
        .def_property_readonly("options",
                               [](const LaunchRecord& self) { return options_to_python(self.options); })
        .def_property_readonly("arguments",
                               [](const LaunchRecord& self) {
                                   py::list result;
                                   for (const auto& each : self.arguments)
                                       result.append(py::make_tuple(each.name, each.type));
                                   return result;
                               })
        .def_property_readonly("parameters",
                               [](const LaunchRecord& self) {
                                   return py::bytes(reinterpret_cast<const char*>(self.parameters.data()),
                                                    self.parameters.size());
                               })
        .def_property_readonly("device",
                               [](const LaunchRecord& self) { return device_profile_to_python(self.device); })
        .def_property_readonly("host_frames",
                               [](const LaunchRecord& self) {
                                   py::list result;
                                   for (const auto& frame : self.host_frames)
                                       result.append(py::make_tuple(frame.function, frame.file, frame.line));
                                   return result;
                               })
        .def_readonly("memory_base", &LaunchRecord::memory_base)
        .def_property_readonly("runs_in_front_end", &LaunchRecord::runs_in_front_end)
        .def_property_readonly("front_end",
                               [](const LaunchRecord& self) { return to_bytes(self.front_end.text()); })
        .def_property_readonly("image", &image_of)
        .def_property_readonly("memory", &memory_to_python)
        .def("content", &content, py::arg("index"), py::arg("after") = false)
        .def_property_readonly("finished", [](const LaunchRecord& self) { return self.outcome.finished; })
        .def_property_readonly("findings",
                               [](const LaunchRecord& self) { return to_bytes(self.outcome.findings); })
        .def_property_readonly("blocks_run", [](const LaunchRecord& self) { return self.outcome.blocks_run; })
        .def(
            "numbered",
            [](const LaunchRecord& self, std::uint64_t number) {
                LaunchRecord record = self;
                record.number = number;
                return record;
            },
            py::arg("number"), "The same record with another number; both share what memory held.")
        .def_property(
            "printed", [](const LaunchRecord& self) { return to_bytes(self.outcome.printed); },
            [](LaunchRecord& self, const std::string& text) { self.outcome.printed = text; })
        .def("headline", [](const LaunchRecord& self) { return driver::headline(self); });
    py::class_<driver::RecordWriter>(module, "RecordWriter", "A new file of records.")
        .def(py::init([](const std::string& path) {
            return std::make_unique<driver::RecordWriter>(std::filesystem::path(path));
        }))
        .def("add",
             [](driver::RecordWriter& self, const LaunchRecord& record) {
                 const ReleasedGil release;
                 self.add(record);
             })
        .def("close", [](driver::RecordWriter& self) {
            const ReleasedGil release;
            self.close();
        });
    py::class_<driver::RecordReader>(module, "RecordReader", "A file of records.")
        .def(py::init([](const std::string& path) {
            const ReleasedGil release;
            return std::make_unique<driver::RecordReader>(std::filesystem::path(path));
        }))
        .def_property_readonly("launches", &driver::RecordReader::launches)
        .def_property_readonly("finished", &driver::RecordReader::finished)
        .def(
            "read",
            [](const driver::RecordReader& self, std::size_t index, bool with_memory) {
                const ReleasedGil release;
                return self.read(index, with_memory);
            },
            py::arg("index"), py::arg("with_memory") = true);
    py::class_<RestoredLaunch>(module, "RestoredLaunch", "A record's memory on a device.")
        .def(py::init<const LaunchRecord&, const LaunchOptions&, const Progress&,
                      std::shared_ptr<SimulatedDevice>>(),
             py::arg("record"), py::arg("options"), py::arg("progress"), py::arg("device"))
        .def("launch", &RestoredLaunch::launch, "Runs the kernel; returns None or a LaunchReport.")
        .def("compare", &RestoredLaunch::compare, "How that run differs from the recorded one.")
        .def("compare_host", &RestoredLaunch::compare_host, py::arg("plan"), py::arg("printed"),
             "The same for a launch of a HostPlan on the device.")
        .def_property_readonly("parameters", &RestoredLaunch::parameters)
        .def("relocated", &RestoredLaunch::relocated, "A recorded address as it is now.")
        .def_property_readonly("same_addresses", &RestoredLaunch::same_addresses);
    py::register_exception_translator(&translate);
}

}  // namespace cudasim::bindings
