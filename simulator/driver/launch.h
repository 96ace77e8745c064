// Launching kernels of modules (CUDA Driver API, "Execution Control"): what a
// launch may be, and cuLaunchKernel.
//
//   Function add = module->function("add");
//   launch_kernel(context, add, {.grid = {4, 1, 1}, .block = {256, 1, 1}, .stream = stream_key(0, 0)},
//                 add.pack(values));
//
// Front ends that prepare launches once and repeat them use the checks, Function::plan() and run()
// (launch_plan.h) by themselves. All functions may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/driver/launch_plan.h"
#include "simulator/driver/module.h"
#include "simulator/streams/timeline.h"

namespace cudasim::driver {

/// Three extents as a program gives them.
using GivenExtents = std::array<std::int64_t, 3>;

struct KernelLaunch {
    GivenExtents grid{1, 1, 1}, block{1, 1, 1};
    std::uint64_t shared_bytes = 0;  ///< dynamic
    streams::StreamKey stream;       ///< stream_key(), require_stream()
    bool cooperative = false;        ///< cuLaunchCooperativeKernel
    std::string place = {};          ///< StreamWork::Submission::place
};

/// @param name what messages call them: "griddim"
/// @throws Error 1 for extents below 1 or above 2^31 - 1. The device's limits are the engine's to check
void require_extents(const GivenExtents& extents, std::string_view name);
/// CUDA C++ Programming Guide, "Launch Bounds". @param bounds as the program gave them, for messages
/// @throws Error 1 for more threads per block than the kernel was compiled for
void require_launch_bounds(std::uint64_t threads, std::uint64_t most, std::string_view kernel,
                           std::string_view bounds);
/// @param stream what messages call it; `owner` is its device
/// @throws Error 400 for a stream of another device than the one that is current
void require_stream_of(int current, int owner, const std::string& stream, const std::string& advice = "");
/// @throws Error 720 where not all blocks fit on the device at once; jit::CompileError,
/// Error with the engine's code
void require_cooperative(const Function& function, const execution::LaunchConfiguration& configuration);

/// The configuration of a launch of this kernel, after all of these checks.
[[nodiscard]] execution::LaunchConfiguration checked_configuration(const Function& function,
                                                                   const KernelLaunch& launch);

/// Runs the kernel when its turn in the stream has come: now, or later (stream_work.h). What the device's
/// limits forbid is refused at once.
/// @param parameters Function::pack()
/// @param ended is given the result, findings and all, on the thread that ran it. Without it the first
///     error is thrown as Error with CUDA's code for it, and one that lasts makes the context unusable,
///     as on a GPU (Context::fail())
/// @throws Error as checked_configuration(); with the failure of a context that is not usable; and what
///     StreamWork::submit() throws. std::invalid_argument for another number of parameter bytes
void launch_kernel(const std::shared_ptr<Context>& current, const Function& function,
                   const KernelLaunch& launch, std::vector<std::byte> parameters,
                   const execution::LaunchOptions& options = {},
                   std::function<void(execution::LaunchResult)> ended = {});

}  // namespace cudasim::driver
