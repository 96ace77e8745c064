// Everything that a launch is, as one value: prepared once, launched as often as wanted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/driver/simulated_device.h"

namespace cudasim::driver {

/// An argument as the program passed it. One argument may be several parameters of the kernel: an array is
/// its address, extents and strides.
struct Argument {
    std::string name;  ///< of the kernel's parameter in the source
    std::string type;  ///< as the front end calls it, for Python Numba's name: "array(float32, 1d, C)"
    bool operator==(const Argument&) const = default;
};

/// A kernel of an image with its configuration and options. The bytes of its parameters differ from launch
/// to launch: run() takes them.
struct LaunchPlan {
    std::shared_ptr<SimulatedDevice> device;
    std::shared_ptr<execution::LoadedImage> loaded;
    image::KernelImage image;
    std::string kernel;        ///< its name in the image
    std::string display_name;  ///< what reports call it: its name in the source
    std::uint32_t parameter_bytes = 0;
    execution::LaunchConfiguration configuration;
    execution::LaunchOptions options;
    std::vector<Argument> arguments;
};

/// A launch of host code as a kernel.
struct HostPlan {
    std::shared_ptr<SimulatedDevice> device;
    execution::LaunchConfiguration configuration;
    execution::LaunchOptions options;
    std::vector<image::SourceFile> sources;
};

/// @throws std::invalid_argument when the image has no such kernel
[[nodiscard]] LaunchPlan make_launch_plan(std::shared_ptr<SimulatedDevice> device,
                                          std::shared_ptr<execution::LoadedImage> loaded,
                                          const image::KernelImage& image, const std::string& kernel);

/// Runs the kernel to its end.
/// @param parameters plan.parameter_bytes of them
/// @param options the plan's, with what the host does meanwhile (poll_host, write_output)
/// @throws std::invalid_argument for another number of bytes; execution::CudaError, jit::CompileError,
///     image::Cancelled; std::runtime_error inside of a launch
[[nodiscard]] execution::LaunchResult run(const LaunchPlan& plan, std::span<const std::byte> parameters,
                                          const execution::LaunchOptions& options);
[[nodiscard]] execution::LaunchResult run(const HostPlan& plan, execution::HostKernel& kernel,
                                          const execution::LaunchOptions& options);

}  // namespace cudasim::driver
