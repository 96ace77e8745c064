// LaunchPlan: everything about a launch that does not change from call to call, worked out once, so that a
// call converts a bytes object and nothing else. HostPlan: the same for a kernel that is host code
// (frontend/pyfiber).
#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/host_poll.h"
#include "frontend/bindings/released_gil.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using Extents = std::array<std::uint32_t, 3>;
using execution::LaunchOptions;

template <typename Value>
using Names = std::initializer_list<std::pair<const char*, Value>>;

/// The value that a text names. @throws value_error with the names
template <typename Value>
Value named(const char* option, const py::handle& given, const Names<Value>& names) {
    const auto text = py::cast<std::string>(given);
    std::string known;
    for (const auto& [name, value] : names) {
        if (text == name) return value;
        known += (known.empty() ? "" : ", ") + std::string(name);
    }
    throw py::value_error(std::string("the launch option ") + option + " is one of " + known + ", not '" +
                          text + "'");
}

struct LaunchOption {
    const char* name;  ///< as Python's option table has it
    void (*set)(LaunchOptions& options, const char* name, const py::handle& value);
};

template <auto Member>
void set_member(LaunchOptions& options, const char*, const py::handle& value) {
    auto& member = options.*Member;
    member = py::cast<std::remove_reference_t<decltype(member)>>(value);
}

template <auto Member>
void set_compile_member(LaunchOptions& options, const char*, const py::handle& value) {
    auto& member = options.compile.*Member;
    member = py::cast<std::remove_reference_t<decltype(member)>>(value);
}

/// The one place where an option of a launch meets its name.
constexpr LaunchOption launch_option_table[] = {
    {"policy",
     [](LaunchOptions& options, const char* name, const py::handle& value) {
         using execution::Policy;
         options.policy = named<Policy>(
             name, value,
             {{"forward", Policy::forward}, {"reverse", Policy::reverse}, {"random", Policy::random}});
     }},
    {"carrier",
     [](LaunchOptions& options, const char* name, const py::handle& value) {
         using execution::Carrier;
         options.carrier =
             named<Carrier>(name, value, {{"automatic", Carrier::automatic}, {"fiber", Carrier::fiber}});
     }},
    {"wrap",
     [](LaunchOptions& options, const char* name, const py::handle& value) {
         using execution::Wrap;
         options.wrap =
             named<Wrap>(name, value, {{"allow", Wrap::allow}, {"warn", Wrap::warn}, {"error", Wrap::error}});
     }},
    {"seed", &set_member<&LaunchOptions::seed>},
    {"workers", &set_member<&LaunchOptions::workers>},
    {"time_limit", &set_member<&LaunchOptions::time_limit_seconds>},
    {"raise_float_division", &set_member<&LaunchOptions::raise_float_division>},
    {"strict", &set_member<&LaunchOptions::strict>},
    {"max_faults", &set_member<&LaunchOptions::max_faults>},
    {"cooperative", &set_member<&LaunchOptions::cooperative>},
    {"memory_checks",
     [](LaunchOptions& options, const char*, const py::handle& value) {
         if (!py::cast<bool>(value)) options.compile.instrumentations.remove(jit::memory_checks());
     }},
    {"fma", &set_compile_member<&jit::CompileOptions::fma_contraction>},
    {"optimisation", &set_compile_member<&jit::CompileOptions::optimisation>},
};

/// @throws type_error for a name that is no option of a launch
LaunchOptions make_options(const py::kwargs& given) {
    LaunchOptions options;
    for (const auto& [key, value] : given) {
        const auto name = py::cast<std::string>(key);
        const auto* row =
            std::ranges::find_if(launch_option_table, [&](const auto& each) { return name == each.name; });
        if (row == std::end(launch_option_table))
            throw py::type_error("a launch has no option '" + name + "'");
        row->set(options, row->name, value);
    }
    return options;
}

execution::LaunchConfiguration make_configuration(Extents grid, Extents block,
                                                  std::uint64_t dynamic_shared_bytes) {
    return {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_shared_bytes};
}

struct HostPlan {
    std::shared_ptr<SimulatedDevice> device;
    execution::LaunchConfiguration configuration;
    LaunchOptions options;
    std::vector<image::SourceFile> sources;
    Progress progress;
};

HostPlan make_host_plan(const std::shared_ptr<SimulatedDevice>& device,
                        const execution::LaunchConfiguration& configuration, const LaunchOptions& options,
                        const std::vector<std::pair<std::string, std::string>>& sources,
                        const Progress& progress) {
    HostPlan plan{device, configuration, options, {}, progress};
    plan.options.workers = 1;  // the GIL is held
    for (const auto& [path, text] : sources) plan.sources.push_back({path, text});
    return plan;
}

struct LaunchPlan {
    std::shared_ptr<SimulatedDevice> device;
    std::shared_ptr<execution::LoadedImage> loaded;
    image::KernelImage image;
    std::string kernel;
    std::string display_name;  ///< what reports call the kernel: its name in the source
    std::uint32_t parameter_bytes;
    execution::LaunchConfiguration configuration;
    LaunchOptions options;
    Progress progress;
};

LaunchPlan make_plan(const LoadedImage& loaded, const image::KernelImage& image, const std::string& kernel,
                     const std::string& display_name, const execution::LaunchConfiguration& configuration,
                     const LaunchOptions& options, const Progress& progress) {
    const image::Kernel* found = image.find(kernel);
    if (found == nullptr) throw py::value_error("the image has no kernel called '" + kernel + "'");
    return {loaded.owner,           loaded.image,  image,   kernel,  display_name,
            found->parameter_bytes, configuration, options, progress};
}

/// Whether this host thread is inside a launch. Python code runs there in signal handlers (HostPoll) and, in
/// Python mode, in kernels; a launch from either would wait for the launch that waits for it.
thread_local bool launching = false;

class OneLaunchPerThread {
  public:
    OneLaunchPerThread() {
        if (launching) {
            throw std::runtime_error(
                "a kernel cannot be launched from a kernel, nor from a signal handler that runs during a "
                "launch: the "
                "launch waits for it. Launch after it");
        }
        launching = true;
    }
    ~OneLaunchPerThread() { launching = false; }
    OneLaunchPerThread(const OneLaunchPerThread&) = delete;
    OneLaunchPerThread& operator=(const OneLaunchPerThread&) = delete;
};

/// One launch with the GIL released. None when there is nothing to say.
/// @param run (options) → result
template <typename Run>
py::object launch_with(SimulatedDevice& device, execution::LaunchOptions options, const Progress& progress,
                       const std::string* kernel_name, const std::vector<image::SourceFile>& sources,
                       Run&& run) {
    const OneLaunchPerThread only;
    HostPoll poll(progress);
    options.poll_host = [&poll](const execution::LaunchProgress& now) { return poll(now); };
    options.write_output = [&poll](std::string_view text) { return poll.write(text); };
    execution::LaunchResult result;
    {
        const ReleasedGil release;
        const SimulatedDevice::LaunchScope scope(device);
        try {
            result = as_driver_call("cuLaunchKernel", [&] { return run(options); });
        } catch (const image::Cancelled&) {  // while its kernel was compiled; `poll` has the exception
        }
    }
    poll.end_progress(result.blocks_run);
    if (result.findings.empty() && !poll.raised()) return py::none();
    if (kernel_name != nullptr)
        for (auto& finding : result.findings) finding.kernel = *kernel_name;
    return py::cast(LaunchReport{std::move(result.findings), sources, result.blocks_run, poll.take()});
}

py::object launch(LaunchPlan& plan, const py::bytes& parameters) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(parameters.ptr(), &data, &size) != 0) throw py::error_already_set();
    if (static_cast<std::uint64_t>(size) != plan.parameter_bytes) {
        throw py::value_error("kernel '" + plan.kernel + "' takes " + std::to_string(plan.parameter_bytes) +
                              " bytes of parameters, got " + std::to_string(size));
    }
    return launch_with(*plan.device, plan.options, plan.progress, &plan.display_name, plan.image.sources(),
                       [&](const auto& options) {
                           return plan.device->device.launch(
                               *plan.loaded, plan.kernel, plan.configuration,
                               std::as_bytes(std::span(data, static_cast<std::size_t>(size))), options);
                       });
}

/// @param kernel a capsule with an execution::HostKernel
py::object launch_host(HostPlan& plan, const py::capsule& kernel) {
    auto* host_kernel =
        static_cast<execution::HostKernel*>(PyCapsule_GetPointer(kernel.ptr(), "cudasim.HostKernel"));
    if (host_kernel == nullptr) throw py::error_already_set();
    return launch_with(*plan.device, plan.options, plan.progress, nullptr, plan.sources,
                       [&](const auto& options) {
                           return plan.device->device.launch(*host_kernel, plan.configuration, options);
                       });
}

/// Compiles the kernel now. @return bytes of static shared memory
std::uint64_t compile(LaunchPlan& plan) {
    return while_compiling(plan.progress, [&](const image::HostPoll& poll) {
        return as_driver_call("cuModuleLoadData", [&] {
            return plan.device->device
                .compile(*plan.loaded, plan.kernel, plan.options.compile_options(), poll)
                ->static_shared_bytes;
        });
    });
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
    py::class_<LaunchPlan>(module, "LaunchPlan", "A kernel, a configuration and options, ready to launch.")
        .def(py::init(&make_plan), py::arg("loaded"), py::arg("image"), py::arg("kernel"),
             py::arg("display_name"), py::arg("configuration"), py::arg("options"), py::arg("progress"))
        .def("launch", &launch, "Runs the kernel to its end; returns None or a LaunchReport.")
        .def("compile", &compile, "Compiles the kernel now; returns its bytes of static shared memory.");
    py::class_<HostPlan>(module, "HostPlan", "A launch of host code as a kernel (cudasim._pyfiber).")
        .def(py::init(&make_host_plan), py::arg("device"), py::arg("configuration"), py::arg("options"),
             py::arg("sources"), py::arg("progress"))
        .def("launch", &launch_host, "Runs the kernel to its end; returns None or a LaunchReport.");
}

}  // namespace cudasim::bindings
