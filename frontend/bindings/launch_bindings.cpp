// driver::LaunchPlan as Python has it: everything about a launch that does not change from call to call,
// worked out once, so that a call converts a bytes object and nothing else. HostPlan: the same for a kernel
// that is host code (frontend/pyfiber).
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/launches.h"
#include "simulator/driver/array_arguments.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using Extents = std::array<std::uint32_t, 3>;
using execution::LaunchOptions;

/// @throws type_error for a name that is not an option of a launch, value_error for
/// a value that it does not take
void set_options(LaunchOptions& options, const py::kwargs& given) {
    const auto known = driver::launch_option_table();
    for (const auto& [key, value] : given) {
        const auto name = py::cast<std::string>(key);
        if (std::ranges::find(known, name, &driver::LaunchOption::name) == known.end())
            throw py::type_error("a launch has no option '" + name + "'");
        try {
            driver::set_launch_option(options, name, option_value(value));
        } catch (const driver::OptionError& error) {
            throw py::value_error(error.what());
        }
    }
}

LaunchOptions make_options(const py::kwargs& given) {
    LaunchOptions options;
    set_options(options, given);
    return options;
}

execution::LaunchConfiguration make_configuration(Extents grid, Extents block,
                                                  std::uint64_t dynamic_shared_bytes) {
    return {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_shared_bytes};
}

std::shared_ptr<BoundHostPlan> make_host_plan(const std::shared_ptr<SimulatedDevice>& device,
                                              const execution::LaunchConfiguration& configuration,
                                              const LaunchOptions& options,
                                              const std::vector<std::pair<std::string, std::string>>& sources,
                                              const Progress& progress) {
    auto bound = std::make_shared<BoundHostPlan>();
    bound->plan = {device, configuration, options, {}};
    bound->plan.options.workers = 1;  // the GIL is held
    for (const auto& [path, text] : sources) bound->plan.sources.push_back({path, text});
    bound->progress = progress;
    return bound;
}

std::shared_ptr<BoundPlan> make_plan(const LoadedImage& loaded, const image::KernelImage& image,
                                     const std::string& kernel, const std::string& display_name,
                                     const execution::LaunchConfiguration& configuration,
                                     const LaunchOptions& options, const Progress& progress,
                                     const std::vector<std::pair<std::string, std::string>>& arguments) {
    auto bound = std::make_shared<BoundPlan>(
        BoundPlan{driver::make_launch_plan(loaded.owner, loaded.image, image, kernel), progress});
    bound->plan.display_name = display_name;
    bound->plan.configuration = configuration;
    bound->plan.options = options;
    for (const auto& [name, type] : arguments) bound->plan.arguments.push_back({name, type});
    return bound;
}

py::object launch(BoundPlan& bound, const py::bytes& given) {
    const auto parameters = bytes_of(given);
    const std::uint64_t number = number_to_record(bound.plan);
    if (number != 0 || captures_launches()) return launch_recorded(bound, parameters, number);
    return launch_with(Runs::compiled_code, bound.plan.options, bound.progress, bound.plan.image.sources(),
                       [&](const auto& options) { return driver::run(bound.plan, parameters, options); });
}

/// @param kernel a capsule with an execution::HostKernel
py::object launch_host(BoundHostPlan& bound, const py::capsule& kernel) {
    auto* host_kernel =
        static_cast<execution::HostKernel*>(PyCapsule_GetPointer(kernel.ptr(), "cudasim.HostKernel"));
    if (host_kernel == nullptr) throw py::error_already_set();
    if (bound.to_record || bound.keeps_result) return launch_recorded(bound, *host_kernel);
    return launch_with(Runs::python_code, bound.plan.options, bound.progress, bound.plan.sources,
                       [&](const auto& options) { return driver::run(bound.plan, *host_kernel, options); });
}

/// Compiles the kernel now. @return bytes of static shared memory
std::uint64_t compile(BoundPlan& bound) {
    driver::LaunchPlan& plan = bound.plan;
    return while_compiling(bound.progress, [&](const image::HostPoll& poll) {
        return driver::in_call("cuModuleLoadData", [&] {
            return plan.device->device
                .compile(*plan.loaded, plan.kernel, plan.options.compile_options(), poll)
                ->static_shared_bytes;
        });
    });
}

std::string identity_of(const std::string& kernel, const execution::LaunchConfiguration& configuration) {
    std::string text = kernel;
    for (const auto& extents : {configuration.grid, configuration.block})
        for (const std::uint32_t extent : {extents.x, extents.y, extents.z})
            text += " " + std::to_string(extent);
    return text + " " + std::to_string(configuration.dynamic_shared_bytes);
}

std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string>> live_memory(
    const driver::SimulatedDevice& device) {
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string>> live;
    for (const auto& each : device.device.memory_layout().live)
        live.emplace_back(each.address, each.bytes, each.label);
    return live;
}

using ArrayArgument =
    std::tuple<std::string, std::string, std::uint64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;

void name_arrays(BoundHostPlan& bound, const std::vector<ArrayArgument>& arrays) {
    bound.plan.options.arrays.clear();
    for (const auto& [name, type, address, extents, strides] : arrays) {
        if (extents.size() != strides.size()) throw py::value_error("an extent and a stride for each axis");
        bound.plan.options.arrays.push_back(
            {.name = name, .element_type = type, .address = address, .extents = extents, .strides = strides});
    }
}

/// The element that the byte lies in, and its type; nullopt when it lies in none of these arrays.
std::optional<std::pair<std::string, std::string>> element_in(
    const std::vector<execution::NamedArray>& arrays, std::uint64_t address) {
    for (const auto& array : arrays) {
        const auto [low, end] = array.range();
        if (address < low || address >= end) continue;
        if (auto element = array.element_at(address)) return std::pair(*element, array.element_type);
    }
    return std::nullopt;
}

}  // namespace

void bind_launch(py::module_& module) {
    py::class_<LaunchOptions>(module, "LaunchOptions", "How a launch runs; keywords are names of options.")
        .def(py::init(&make_options));
    py::class_<execution::LaunchConfiguration>(
        module, "LaunchConfiguration", "Grid and block, (x, y, z) each, and bytes of dynamic shared memory.")
        .def(py::init(&make_configuration), py::arg("grid"), py::arg("block"),
             py::arg("dynamic_shared_bytes") = 0);
    py::class_<Progress>(
        module, "Progress",
        "What shows how far a launch is, once it has run for so many seconds; None shows nothing.")
        .def(py::init<py::object, double>(), py::arg("begin") = py::none(), py::arg("after_seconds") = 0.0);
    py::class_<BoundPlan, std::shared_ptr<BoundPlan>>(
        module, "LaunchPlan", "A kernel, a configuration and options, ready to launch.")
        .def(py::init(&make_plan), py::arg("loaded"), py::arg("image"), py::arg("kernel"),
             py::arg("display_name"), py::arg("configuration"), py::arg("options"), py::arg("progress"),
             py::arg("arguments") = py::list())
        .def("launch", &launch, "Runs the kernel to its end; returns None or a LaunchReport.")
        .def(
            "change_options",
            [](BoundPlan& self, const py::kwargs& given) { set_options(self.plan.options, given); },
            "From the next launch on: options by their names.")
        .def(
            "identity",
            [](const BoundPlan& self) { return identity_of(self.plan.kernel, self.plan.configuration); },
            "Kernel, grid and block, as text.")
        .def(
            "live_memory", [](const BoundPlan& self) { return live_memory(*self.plan.device); },
            "(address, bytes, label) of each allocation that kernels may use.")
        .def(
            "element_at",
            [](const BoundPlan& self, const py::bytes& parameters, std::uint64_t address) {
                const std::string_view bytes = parameters;
                return element_in(driver::array_arguments(self.plan, std::as_bytes(std::span(bytes))),
                                  address);
            },
            "The element of an argument that the byte lies in, and its type; None when it lies in none.")
        .def("compile", &compile, "Compiles the kernel now; returns its bytes of static shared memory.");
    py::class_<BoundHostPlan, std::shared_ptr<BoundHostPlan>>(
        module, "HostPlan", "A launch of host code as a kernel (cudasim._pyfiber).")
        .def(py::init(&make_host_plan), py::arg("device"), py::arg("configuration"), py::arg("options"),
             py::arg("sources"), py::arg("progress"))
        .def(
            "change_options",
            [](BoundHostPlan& self, const py::kwargs& given) { set_options(self.plan.options, given); },
            "As LaunchPlan's.")
        .def(
            "name_arrays", &name_arrays, py::arg("arrays"),
            "What reports of the next launches call elements: (name, type of the elements, address, extents, "
            "strides in bytes) of each argument that is an array.")
        .def(
            "identity", [](const BoundHostPlan& self) { return identity_of("", self.plan.configuration); },
            "As LaunchPlan's.")
        .def(
            "live_memory", [](const BoundHostPlan& self) { return live_memory(*self.plan.device); },
            "As LaunchPlan's.")
        .def(
            "element_at",
            [](const BoundHostPlan& self, const py::object&, std::uint64_t address) {
                return element_in(self.plan.options.arrays, address);
            },
            "As LaunchPlan's, of the arrays of name_arrays(); the first argument has no meaning.")
        .def("record_as", &record_as, py::arg("number"), py::arg("display_name"), py::arg("arguments"),
             py::arg("parameters"), py::arg("front_end"), py::arg("roots"), py::arg("version"),
             py::arg("keep_after") = false, "The next launch is recorded; take_record() has it afterwards.")
        .def("take_record", &take_record, "What record_as() asked for, or None; forgets it.")
        .def_readwrite("keeps_result", &BoundHostPlan::keeps_result,
                       "Whether launches leave their result for RestoredLaunch.compare().")
        .def("launch", &launch_host, "Runs the kernel to its end; returns None or a LaunchReport.");
}

}  // namespace cudasim::bindings
