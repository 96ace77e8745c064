// How many blocks a device holds at a time (CUDA Driver API, "Occupancy"). Registers are not modelled.
#pragma once

#include <cstdint>
#include <functional>

#include "simulator/execution/device.h"
#include "simulator/execution/launch_limits.h"

namespace cudasim::driver {

/// cuOccupancyMaxActiveBlocksPerMultiprocessor is the engine's own rule.
using execution::blocks_per_multiprocessor;

/// The largest block with which most threads are resident.
/// @param shared_bytes threads of a block → bytes of its shared memory, static and dynamic
/// @param limit threads that a block has at most
[[nodiscard]] unsigned best_block_size(const execution::DeviceProfile& profile, unsigned limit,
                                       const std::function<std::uint64_t(unsigned)>& shared_bytes);

/// cuOccupancyMaxActiveBlocksPerMultiprocessor of a kernel; 0 for blocks that cannot be launched.
/// @param most_threads that a block of the kernel may have
/// @param shared_bytes of a block, static and dynamic
[[nodiscard]] std::uint64_t active_blocks(const execution::DeviceProfile& profile, std::uint64_t most_threads,
                                          std::uint64_t threads, std::uint64_t shared_bytes);

struct GridAndBlock {
    std::uint64_t blocks = 0;  ///< of a grid that fills the device
    unsigned threads = 0;      ///< of a block
};
/// cuOccupancyMaxPotentialBlockSize of a kernel.
/// @param most_threads that a block of the kernel may have
/// @param limit threads that a block is to have at most; 0: no limit besides the kernel's
[[nodiscard]] GridAndBlock max_potential_block_size(
    const execution::DeviceProfile& profile, unsigned most_threads, unsigned limit,
    const std::function<std::uint64_t(unsigned)>& shared_bytes);

/// Whether the device's limits allow a launch, as far as that is known without its kernel.
[[nodiscard]] bool fits(const execution::DeviceProfile& profile,
                        const execution::LaunchConfiguration& configuration);

}  // namespace cudasim::driver
