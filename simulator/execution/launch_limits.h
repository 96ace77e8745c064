// What a device forbids, and how many blocks it holds at a time (E8).
#pragma once

#include <cstdint>

#include "simulator/execution/device.h"

namespace cudasim::execution {

/// @throws CudaError 1 (invalid value) naming the limit, for grids and blocks the device cannot run
void check_configuration(const DeviceProfile& profile, const LaunchConfiguration& configuration);

[[nodiscard]] bool has_clusters(const DeviceProfile& profile);
/// @throws CudaError 912 (invalid cluster size), 801 (not supported) on devices before compute capability 9.0
void check_clusters(const DeviceProfile& profile, const LaunchConfiguration& configuration);

/// @throws CudaError 1 naming the limit
void check_shared_memory(const DeviceProfile& profile, std::uint64_t static_bytes,
                         std::uint64_t dynamic_bytes);

/// Blocks that are resident on one multiprocessor at a time; 0 when one is too large. (CUDA C++ Programming
/// Guide, "Hardware Multithreading": limited by warps, blocks and shared memory; registers are not modelled.)
[[nodiscard]] unsigned blocks_per_multiprocessor(const DeviceProfile& profile, std::uint64_t block_threads,
                                                 std::uint64_t shared_bytes);

/// Blocks that are resident on the whole device at a time, at least one for each multiprocessor.
[[nodiscard]] unsigned occupancy(const DeviceProfile& profile, std::uint64_t block_threads,
                                 std::uint64_t shared_bytes);

/// Clusters that the device holds at a time; 0: none fits.
/// @param resident blocks that fit on one multiprocessor
[[nodiscard]] std::uint64_t active_clusters(const DeviceProfile& profile, std::uint64_t cluster_blocks,
                                            std::uint64_t resident);

/// @param resident blocks that can be on the device at once. @throws CudaError 720 for a grid of more
void check_cooperative(const DeviceProfile& profile, const LaunchConfiguration& configuration,
                       unsigned resident);

}  // namespace cudasim::execution
