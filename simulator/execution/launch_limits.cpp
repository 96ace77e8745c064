// Limits of a launch, each error with the number asked for and the number allowed.
#include "simulator/execution/launch_limits.h"

#include <algorithm>

#include "simulator/jit/abi.h"

namespace cudasim::execution {

namespace {

[[noreturn]] void refuse(const std::string& what, std::uint64_t asked, const DeviceProfile& profile,
                         std::uint64_t limit) {
    throw CudaError(CudaResult::invalid_value, what + " of " + std::to_string(asked) +
                                                   " is more than the limit of " + std::to_string(limit) +
                                                   " of " + profile.name);
}

void check_axis(const DeviceProfile& profile, const std::string& what, std::uint32_t value,
                std::uint32_t limit) {
    if (value == 0)
        throw CudaError(CudaResult::invalid_value, "a " + what + " of 0: every dimension must be at least 1");
    if (value > limit) refuse(what, value, profile, limit);
}

}  // namespace

void check_configuration(const DeviceProfile& profile, const LaunchConfiguration& configuration) {
    const auto grid = [&](const char* what, std::uint32_t value, std::uint32_t limit) {
        check_axis(profile, what, value, std::min(limit, jit::largest_grid_extent));
    };
    const auto block = [&](const char* what, std::uint32_t value, std::uint32_t limit) {
        check_axis(profile, what, value, std::min(limit, jit::largest_block_extent));
    };
    grid("grid dimension x", configuration.grid.x, profile.max_grid.x);
    grid("grid dimension y", configuration.grid.y, profile.max_grid.y);
    grid("grid dimension z", configuration.grid.z, profile.max_grid.z);
    block("block dimension x", configuration.block.x, profile.max_block.x);
    block("block dimension y", configuration.block.y, profile.max_block.y);
    block("block dimension z", configuration.block.z, profile.max_block.z);
    if (configuration.block.volume() > profile.max_threads_per_block)
        refuse("a block size", configuration.block.volume(), profile, profile.max_threads_per_block);
}

bool has_clusters(const DeviceProfile& profile) {
    return profile.compute_capability_major >= 9;
}

void check_clusters(const DeviceProfile& profile, const LaunchConfiguration& configuration) {
    if (!configuration.cluster) return;
    const Dim3 &cluster = *configuration.cluster, &grid = configuration.grid;
    const auto text = [](const Dim3& of) {
        return '(' + std::to_string(of.x) + ", " + std::to_string(of.y) + ", " + std::to_string(of.z) + ')';
    };
    const auto refuse_size = [&](const std::string& reason) {
        throw CudaError(CudaResult::invalid_cluster_size,
                        "clusters of " + text(cluster) + " blocks" + reason);
    };
    if (!has_clusters(profile))
        throw CudaError(CudaResult::not_supported,
                        "clusters of blocks come with compute capability 9.0, and " + profile.name + " has " +
                            std::to_string(profile.compute_capability_major) + "." +
                            std::to_string(profile.compute_capability_minor));
    if (cluster.volume() == 0) refuse_size(": a cluster has at least one block");
    if (cluster.volume() > jit::most_cluster_blocks)
        refuse_size(", and a cluster has at most " + std::to_string(jit::most_cluster_blocks));
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
        refuse_size(" do not divide a grid of " + text(grid));
}

void check_shared_memory(const DeviceProfile& profile, std::uint64_t static_bytes,
                         std::uint64_t dynamic_bytes) {
    if (static_bytes > profile.shared_per_block)
        refuse("static shared memory per block in bytes", static_bytes, profile, profile.shared_per_block);
    const std::uint64_t limit = std::max(profile.shared_per_block, profile.shared_per_block_optin);
    if (static_bytes + dynamic_bytes > limit)
        refuse("shared memory per block in bytes", static_bytes + dynamic_bytes, profile, limit);
}

void check_cooperative(const DeviceProfile& profile, const LaunchConfiguration& configuration,
                       unsigned resident) {
    const std::uint64_t blocks = configuration.grid.volume();
    if (blocks <= resident) return;
    throw CudaError(CudaResult::cooperative_launch_too_large,
                    "a cooperative launch of " + std::to_string(blocks) + " blocks of " +
                        std::to_string(configuration.block.volume()) + " threads, but only " +
                        std::to_string(resident) + " such blocks can be resident on " + profile.name +
                        " at once, and grid synchronisation needs all of them");
}

unsigned blocks_per_multiprocessor(const DeviceProfile& profile, std::uint64_t block_threads,
                                   std::uint64_t shared_bytes) {
    const std::uint64_t rounded =
        (block_threads + profile.warp_size - 1) / profile.warp_size * profile.warp_size;
    std::uint64_t blocks = std::min<std::uint64_t>(profile.max_threads_per_multiprocessor / rounded,
                                                   profile.max_blocks_per_multiprocessor);
    if (shared_bytes != 0) {
        // In units of so many bytes (CUDA C++ Best Practices Guide, "Occupancy": NVIDIA's calculator).
        const std::uint64_t unit = profile.compute_capability_major >= 8 ? 128 : 256;
        const std::uint64_t used =
            (shared_bytes + profile.shared_reserved_per_block + unit - 1) / unit * unit;
        blocks = std::min(blocks, profile.shared_per_multiprocessor / used);
    }
    return static_cast<unsigned>(blocks);
}

/// The groups of multiprocessors that a cluster has to fit into (GPCs) are not modelled: how many of them a
/// GPU has, and of which size, differs from one to the next.
std::uint64_t active_clusters(const DeviceProfile& profile, std::uint64_t cluster_blocks,
                              std::uint64_t resident) {
    return resident * profile.multiprocessors / cluster_blocks;
}

unsigned occupancy(const DeviceProfile& profile, std::uint64_t block_threads, std::uint64_t shared_bytes) {
    return std::max(blocks_per_multiprocessor(profile, block_threads, shared_bytes), 1U) *
           profile.multiprocessors;
}

}  // namespace cudasim::execution
