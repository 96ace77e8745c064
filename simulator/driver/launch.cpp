// See launch.h.
#include "simulator/driver/launch.h"

#include <limits>
#include <utility>

#include "simulator/driver/event.h"
#include "simulator/driver/occupancy.h"
#include "simulator/driver/stream_work.h"

namespace cudasim::driver {

namespace {

constexpr auto launch_call = "cuLaunchKernel";

execution::Dim3 as_dim3(const GivenExtents& extents) {
    return {static_cast<std::uint32_t>(extents[0]), static_cast<std::uint32_t>(extents[1]),
            static_cast<std::uint32_t>(extents[2])};
}

/// @throws Error, which makes the context unusable if it lasts
void raise_error(Context& context, const execution::LaunchResult& result) {
    const findings::Finding* error = result.error();
    if (error == nullptr) return;
    // What a GPU does not notice has no code; it leaves the context as it is.
    const int noticed = findings::info(error->kind).cuda_error_code;
    const auto code = noticed != 0 ? static_cast<CudaResult>(noticed) : CudaResult::launch_failed;
    if (noticed != 0) context.fail(code);
    throw Error(launch_call, code, error->message + " " + findings::coordinates(error->thread),
                error->location);
}

}  // namespace

void require_extents(const GivenExtents& extents, std::string_view name) {
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        const std::int64_t extent = extents[axis];
        if (extent >= 1 && extent <= std::numeric_limits<std::int32_t>::max()) continue;
        throw Error(launch_call, CudaResult::invalid_value,
                    std::string(name) + "." + "xyz"[axis] + " is " + std::to_string(extent) +
                        "; it must be at " + (extent < 1 ? "least 1" : "most 2147483647"));
    }
}

void require_launch_bounds(std::uint64_t threads, std::uint64_t most, std::string_view kernel,
                           std::string_view bounds) {
    if (threads <= most) return;
    throw Error(launch_call, CudaResult::invalid_value,
                std::to_string(threads) + " threads per block, but " + std::string(kernel) +
                    " was compiled with launch_bounds=" + std::string(bounds));
}

void require_stream_of(int current, int owner, const std::string& stream, const std::string& advice) {
    if (owner == current) return;
    throw foreign_stream(launch_call, stream, owner, current, "; make the stream's device current" + advice);
}

void require_cooperative(const Function& function, const execution::LaunchConfiguration& configuration) {
    const auto& profile = function.module()->context()->engine()->device.profile();
    const std::uint64_t blocks = configuration.grid.volume();
    const std::uint64_t fitting =
        profile.multiprocessors *
        active_blocks(profile, function.max_threads_per_block(), configuration.block.volume(),
                      function.static_shared_bytes() + configuration.dynamic_shared_bytes);
    if (blocks <= fitting) return;
    throw Error("cuLaunchCooperativeKernel", CudaResult::cooperative_launch_too_large,
                "the grid has " + std::to_string(blocks) + " blocks, of which the device holds " +
                    std::to_string(fitting) + " at once; a cooperative launch needs all of them");
}

execution::LaunchConfiguration checked_configuration(const Function& function, const KernelLaunch& launch) {
    const Context& context = *function.module()->context();
    context.require_usable(launch_call);
    require_extents(launch.grid, "griddim");
    require_extents(launch.block, "blockdim");
    require_stream_of(context.device(), launch.stream.device, "the stream");
    const execution::LaunchConfiguration configuration{as_dim3(launch.grid), as_dim3(launch.block),
                                                       launch.shared_bytes};
    if (launch.cooperative) require_cooperative(function, configuration);
    return configuration;
}

void launch_kernel(const std::shared_ptr<Context>& current, const Function& function,
                   const KernelLaunch& launch, std::vector<std::byte> parameters,
                   const execution::LaunchOptions& options,
                   std::function<void(execution::LaunchResult)> ended) {
    const auto configuration = checked_configuration(function, launch);
    if (!ended)
        ended = [context = current](const execution::LaunchResult& result) { raise_error(*context, result); };
    execution::LaunchOptions chosen = options;
    chosen.cooperative = launch.cooperative;
    chosen.cooperative_by_kernel = false;
    auto run_it = [plan = function.plan(configuration, chosen), parameters = std::move(parameters),
                   ended = std::move(ended)] {
        ended(in_call(launch_call, [&] { return run(plan, parameters, plan.options); }));
    };
    // What the device's limits forbid fails here, whatever waits.
    const bool synchronous = !fits(current->engine()->device.profile(), configuration);
    StreamWork::of_this_process().submit(launch.stream, std::move(run_it),
                                         {.synchronous = synchronous, .place = launch.place});
}

}  // namespace cudasim::driver
