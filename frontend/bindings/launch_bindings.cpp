// LaunchPlan: everything about a launch that does not change from call to call, worked out once, so that a
// call converts a bytes object and nothing else. HostPlan: the same for a kernel that is host code
// (frontend/pyfiber).
#include <pybind11/stl.h>

#include <stdexcept>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/host_poll.h"
#include "frontend/bindings/released_gil.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using Extents = std::array<std::uint32_t, 3>;

execution::Policy policy_from(const std::string& name) {
    if (name == "reverse") return execution::Policy::reverse;
    return name == "random" ? execution::Policy::random : execution::Policy::forward;
}

execution::Wrap wrap_from(const std::string& name) {
    if (name == "error") return execution::Wrap::error;
    return name == "warn" ? execution::Wrap::warn : execution::Wrap::allow;
}

struct HostPlan {
    std::shared_ptr<SimulatedDevice> device;
    execution::LaunchConfiguration configuration;
    execution::LaunchOptions options;
    std::vector<image::SourceFile> sources;
    Progress progress;
};

HostPlan make_host_plan(const std::shared_ptr<SimulatedDevice>& device, Extents grid, Extents block,
                        std::uint64_t dynamic_shared_bytes,
                        const std::vector<std::pair<std::string, std::string>>& sources,
                        const std::string& policy, std::uint64_t seed, bool raise_float_division,
                        const std::string& wrap, bool strict, std::uint64_t max_faults,
                        const py::object& progress, double progress_after_seconds, bool cooperative,
                        double time_limit_seconds) {
    execution::LaunchOptions options;
    options.time_limit_seconds = time_limit_seconds;
    options.policy = policy_from(policy);
    options.seed = seed;
    options.cooperative = cooperative;
    options.workers = 1;  // the GIL is held
    options.raise_float_division = raise_float_division;
    options.wrap = wrap_from(wrap);
    options.strict = strict;
    options.max_faults = max_faults;
    HostPlan plan{device,
                  {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_shared_bytes},
                  std::move(options),
                  {},
                  {progress, progress_after_seconds}};
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
    execution::LaunchOptions options;
    Progress progress;
};

LaunchPlan make_plan(const LoadedImage& loaded, const image::KernelImage& image, const std::string& kernel,
                     const std::string& display_name, Extents grid, Extents block,
                     std::uint64_t dynamic_shared_bytes, const std::string& policy, std::uint64_t seed,
                     const std::string& carrier, unsigned workers, double time_limit_seconds,
                     bool raise_float_division, const std::string& wrap, bool strict,
                     std::uint64_t max_faults, bool memory_checks, bool fma_contraction,
                     unsigned optimisation, const py::object& progress, double progress_after_seconds) {
    const image::Kernel* found = image.find(kernel);
    if (found == nullptr) throw py::value_error("the image has no kernel called '" + kernel + "'");
    execution::LaunchOptions options;
    options.policy = policy_from(policy);
    options.seed = seed;
    if (carrier == "fiber") options.carrier = execution::Carrier::fiber;
    options.workers = workers;
    options.time_limit_seconds = time_limit_seconds;
    options.raise_float_division = raise_float_division;
    options.wrap = wrap_from(wrap);
    options.strict = strict;
    options.max_faults = max_faults;
    options.compile = {
        .memory_checks = memory_checks, .fma_contraction = fma_contraction, .optimisation = optimisation};
    return {loaded.owner,
            loaded.image,
            image,
            kernel,
            display_name,
            found->parameter_bytes,
            {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_shared_bytes},
            std::move(options),
            {progress, progress_after_seconds}};
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
    py::class_<LaunchPlan>(module, "LaunchPlan", "A kernel, a configuration and options, ready to launch.")
        .def(py::init(&make_plan), py::arg("loaded"), py::arg("image"), py::arg("kernel"),
             py::arg("display_name"), py::arg("grid"), py::arg("block"), py::arg("dynamic_shared_bytes") = 0,
             py::kw_only(), py::arg("policy") = "forward", py::arg("seed") = 0,
             py::arg("carrier") = "automatic", py::arg("workers") = 0, py::arg("time_limit_seconds") = 0.0,
             py::arg("raise_float_division") = false, py::arg("wrap") = "allow", py::arg("strict") = false,
             py::arg("max_faults") = 1000, py::arg("memory_checks") = true,
             py::arg("fma_contraction") = false, py::arg("optimisation") = 2,
             py::arg("progress") = py::none(), py::arg("progress_after_seconds") = 0.0)
        .def("launch", &launch, "Runs the kernel to its end; returns None or a LaunchReport.")
        .def("compile", &compile, "Compiles the kernel now; returns its bytes of static shared memory.");
    py::class_<HostPlan>(module, "HostPlan", "A launch of host code as a kernel (cudasim._pyfiber).")
        .def(py::init(&make_host_plan), py::arg("device"), py::arg("grid"), py::arg("block"),
             py::arg("dynamic_shared_bytes"), py::arg("sources"), py::kw_only(),
             py::arg("policy") = "forward", py::arg("seed") = 0, py::arg("raise_float_division") = false,
             py::arg("wrap") = "allow", py::arg("strict") = false, py::arg("max_faults") = 1000,
             py::arg("progress") = py::none(), py::arg("progress_after_seconds") = 0.0,
             py::arg("cooperative") = false, py::arg("time_limit_seconds") = 0.0)
        .def("launch", &launch_host, "Runs the kernel to its end; returns None or a LaunchReport.");
}

}  // namespace cudasim::bindings
