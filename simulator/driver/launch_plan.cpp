// Launching what a plan describes.
#include "simulator/driver/launch_plan.h"

#include <stdexcept>
#include <utility>

#include "simulator/checks/checks.h"
#include "simulator/driver/array_arguments.h"

namespace cudasim::driver {

LaunchPlan make_launch_plan(std::shared_ptr<SimulatedDevice> device,
                            std::shared_ptr<execution::LoadedImage> loaded, const image::KernelImage& image,
                            const std::string& kernel) {
    const image::Kernel* found = image.find(kernel);
    if (found == nullptr) throw std::invalid_argument("the image has no kernel called '" + kernel + "'");
    return {.device = std::move(device),
            .loaded = std::move(loaded),
            .image = image,
            .kernel = kernel,
            .display_name = kernel,
            .parameter_bytes = found->parameter_bytes};
}

execution::LaunchResult run(const LaunchPlan& plan, std::span<const std::byte> parameters,
                            const execution::LaunchOptions& options) {
    if (parameters.size() != plan.parameter_bytes)
        throw std::invalid_argument("kernel '" + plan.kernel + "' takes " +
                                    std::to_string(plan.parameter_bytes) + " bytes of parameters, got " +
                                    std::to_string(parameters.size()));
    const OneLaunchPerThread only;
    const SimulatedDevice::LaunchScope scope(*plan.device);
    execution::LaunchOptions chosen = options;
    if (const auto checks = checks::checks_of(options.compile.instrumentations); checks.races || checks.init)
        chosen.arrays = array_arguments(plan, parameters);
    auto result = plan.device->launch(*plan.loaded, plan.kernel, plan.configuration, parameters, chosen);
    for (auto& finding : result.findings) finding.kernel = plan.display_name;
    return result;
}

execution::LaunchResult run(const HostPlan& plan, execution::HostKernel& kernel,
                            const execution::LaunchOptions& options) {
    const OneLaunchPerThread only;
    const SimulatedDevice::LaunchScope scope(*plan.device);
    return plan.device->launch(kernel, plan.configuration, options);
}

}  // namespace cudasim::driver
