// How many blocks a device holds at a time (CUDA Driver API, "Occupancy"). Registers are not modelled.
#pragma once

#include <cstdint>
#include <functional>

#include "simulator/execution/device.h"
#include "simulator/execution/launch_limits.h"

namespace cudasim::driver {

/// cuOccupancyMaxActiveBlocksPerMultiprocessor is the engine's own rule.
using execution::blocks_per_multiprocessor;

/// cuOccupancyMaxPotentialBlockSize: the largest block with which most threads are resident.
/// @param shared_bytes threads of a block → bytes of its shared memory, static and dynamic
/// @param limit threads that a block has at most
[[nodiscard]] unsigned best_block_size(const execution::DeviceProfile& profile, unsigned limit,
                                       const std::function<std::uint64_t(unsigned)>& shared_bytes);

/// Whether the device's limits allow a launch, as far as that is known without its kernel.
[[nodiscard]] bool fits(const execution::DeviceProfile& profile,
                        const execution::LaunchConfiguration& configuration);

}  // namespace cudasim::driver
