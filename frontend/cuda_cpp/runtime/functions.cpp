// Pages "Execution Control" and "Occupancy" of the CUDA Runtime API: what is known of a kernel, and
// what is set for it.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "frontend/cuda_cpp/runtime/programs.h"
#include "simulator/driver/occupancy.h"
#include "simulator/execution/launch_limits.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

/// Registers are not modelled: with this many, they limit no block.
constexpr int plausible_registers = 32;

std::shared_ptr<PreparedKernel> kernel_of(const void* function, const char* call) {
    return Programs::of_this_process().kernel(Process::get().usable(call), function, call);
}

void set_attribute(PreparedKernel& kernel, cudaFuncAttribute attribute, int value, const char* call) {
    const auto& profile = kernel.profile();
    switch (attribute) {
        case cudaFuncAttributeMaxDynamicSharedMemorySize: {
            const std::uint64_t most = std::max(profile.shared_per_block, profile.shared_per_block_optin);
            const std::uint64_t used = kernel.static_shared_bytes();
            if (value < 0 || used + static_cast<std::uint64_t>(value) > most)
                fail(call, cudaErrorInvalidValue,
                     std::to_string(value) + " bytes of dynamic shared memory beside " +
                         std::to_string(used) + " static ones, and " + profile.name + " has " +
                         std::to_string(most));
            kernel.allow_dynamic_shared_bytes(static_cast<std::uint64_t>(value));
            return;
        }
        case cudaFuncAttributePreferredSharedMemoryCarveout:
            if (value < -1 || value > 100)
                fail(call, cudaErrorInvalidValue, "a carveout is a percentage, or -1");
            kernel.carveout = value;
            return;
        case cudaFuncAttributeNonPortableClusterSizeAllowed:
            if (value != 0 && value != 1)
                fail(call, cudaErrorInvalidValue, "a size of clusters is allowed (1) or not (0)");
            kernel.allows_large_clusters = value != 0;
            return;
        case cudaFuncAttributeRequiredClusterWidth:
        case cudaFuncAttributeRequiredClusterHeight:
        case cudaFuncAttributeRequiredClusterDepth:
            if (kernel.declared_cluster())
                fail(call, cudaErrorInvalidValue, "the kernel was compiled with __cluster_dims__");
            if (value < 0) fail(call, cudaErrorInvalidValue, "a cluster has no negative extents");
            kernel.required_cluster[static_cast<std::size_t>(attribute) -
                                    cudaFuncAttributeRequiredClusterWidth] =
                static_cast<std::uint32_t>(value);
            return;
        case cudaFuncAttributeClusterSchedulingPolicyPreference:
            if (value < cudaClusterSchedulingPolicyDefault ||
                value > cudaClusterSchedulingPolicyLoadBalancing)
                fail(call, cudaErrorInvalidValue, "no such policy");
            kernel.cluster_scheduling = value;
            return;
        default:
            fail(call, cudaErrorInvalidValue,
                 "attribute " + std::to_string(attribute) + " does not exist, or cannot be set");
    }
}

cudaError_t active_blocks(const char* name, int* blocks, const void* function, int threads,
                          size_t shared_bytes, unsigned flags) {
    return call(name, [&] {
        require_argument(name, blocks, "what the number of blocks is written to");
        if (flags > cudaOccupancyDisableCachingOverride) fail(name, cudaErrorInvalidValue, "unknown flags");
        if (threads <= 0) fail(name, cudaErrorInvalidValue, "a block has at least one thread");
        const auto kernel = kernel_of(function, name);
        const auto& profile = kernel->profile();
        *blocks = 0;
        if (shared_bytes > kernel->most_dynamic_shared_bytes()) return;
        // __launch_bounds__ limits launches, not this answer.
        *blocks = static_cast<int>(driver::active_blocks(profile, profile.max_threads_per_block,
                                                         static_cast<std::uint64_t>(threads),
                                                         kernel->static_shared_bytes() + shared_bytes));
    });
}

/// On one multiprocessor.
std::uint64_t resident_blocks(const PreparedKernel& kernel, const cudaLaunchConfig_t& configuration) {
    const dim3& block = configuration.blockDim;
    return driver::active_blocks(kernel.profile(), kernel.most_threads(),
                                 std::uint64_t{block.x} * block.y * block.z,
                                 kernel.static_shared_bytes() + configuration.dynamicSmemBytes);
}

/// Of such a launch; of one block where neither the launch nor the kernel says how many.
execution::Dim3 cluster_of(const PreparedKernel& kernel, const cudaLaunchConfig_t& configuration,
                           const char* call) {
    if (configuration.numAttrs != 0) require_argument(call, configuration.attrs, "attrs");
    for (unsigned i = 0; i < configuration.numAttrs; ++i) {
        const auto& extents = configuration.attrs[i].val.clusterDim;
        if (configuration.attrs[i].id == cudaLaunchAttributeClusterDimension)
            return {extents.x, extents.y, extents.z};
    }
    return kernel.cluster().value_or(execution::Dim3{});
}

}  // namespace

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    constexpr auto name = "cudaFuncGetAttributes";
    return call(name, [&] {
        require_argument(name, attributes, "what the attributes are written to");
        const auto kernel = kernel_of(function, name);
        const auto& profile = kernel->profile();
        *attributes = {};
        attributes->sharedSizeBytes = kernel->static_shared_bytes();
        attributes->constSizeBytes = kernel->constant_bytes();
        attributes->maxThreadsPerBlock = static_cast<int>(kernel->most_threads());
        attributes->numRegs = plausible_registers;
        attributes->ptxVersion = attributes->binaryVersion =
            10 * profile.compute_capability_major + profile.compute_capability_minor;
        attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel->most_dynamic_shared_bytes());
        attributes->preferredShmemCarveout = kernel->carveout;
        if (const auto cluster = kernel->cluster()) {
            attributes->clusterDimMustBeSet = kernel->declared_cluster() ? 1 : 0;
            attributes->requiredClusterWidth = static_cast<int>(cluster->x);
            attributes->requiredClusterHeight = static_cast<int>(cluster->y);
            attributes->requiredClusterDepth = static_cast<int>(cluster->z);
        }
        attributes->clusterSchedulingPolicyPreference = kernel->cluster_scheduling;
        attributes->nonPortableClusterSizeAllowed = kernel->allows_large_clusters ? 1 : 0;
    });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    constexpr auto name = "cudaFuncSetAttribute";
    return call(name, [&] { set_attribute(*kernel_of(function, name), attribute, value, name); });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                            int device) {
    constexpr auto name = "cudaKernelSetAttributeForDevice";
    return call(name, [&] {
        const auto context = Process::get().device(device, name);
        set_attribute(*Programs::of_this_process().kernel(context, kernel, name), attribute, value, name);
    });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
    constexpr auto name = "cudaFuncSetCacheConfig";
    return call(name, [&] {
        if (static_cast<unsigned>(config) > cudaFuncCachePreferEqual)
            fail(name, cudaErrorInvalidValue, "no such configuration of the cache");
        (void)kernel_of(function, name);
    });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig config) {
    constexpr auto name = "cudaFuncSetSharedMemConfig";
    return call(name, [&] {
        if (static_cast<unsigned>(config) > cudaSharedMemBankSizeEightByte)
            fail(name, cudaErrorInvalidValue, "no such size of banks");
        (void)kernel_of(function, name);
    });
}

cudaError_t cudaFuncGetName(const char** result, const void* function) {
    constexpr auto name = "cudaFuncGetName";
    return call(name, [&] {
        require_argument(name, result, "what the name is written to");
        *result = Programs::of_this_process().kernel_name(function, name).c_str();
    });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
    constexpr auto name = "cudaFuncGetParamInfo";
    return call(name, [&] {
        require_argument(name, offset, "what the offset is written to");
        require_optional(name, bytes, "what the size is written to");
        const auto kernel = kernel_of(function, name);
        const auto parameters = kernel->function().parameters();
        if (index >= parameters.size())
            fail(name, cudaErrorInvalidValue,
                 "the kernel has " + std::to_string(parameters.size()) + " parameters");
        *offset = parameters[index].offset;
        if (bytes != nullptr) *bytes = parameters[index].size;
    });
}

/// A kernel's handle is the address that the host knows it by.
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
    constexpr auto name = "cudaGetFuncBySymbol";
    return call(name, [&] {
        require_argument(name, function, "what the function is written to");
        (void)Programs::of_this_process().kernel_name(symbol, name);
        *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
    });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* entry) {
    constexpr auto name = "cudaGetKernel";
    return call(name, [&] {
        require_argument(name, kernel, "what the kernel is written to");
        (void)Programs::of_this_process().kernel_name(entry, name);
        *kernel = static_cast<cudaKernel_t>(const_cast<void*>(entry));
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared_bytes) {
    return active_blocks("cudaOccupancyMaxActiveBlocksPerMultiprocessor", blocks, function, threads,
                         shared_bytes, 0);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned flags) {
    return active_blocks("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", blocks, function, threads,
                         shared_bytes, flags);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes, const void* function, int blocks,
                                                      int threads) {
    constexpr auto name = "cudaOccupancyAvailableDynamicSMemPerBlock";
    return call(name, [&] {
        require_argument(name, shared_bytes, "what the size is written to");
        if (blocks <= 0 || threads <= 0)
            fail(name, cudaErrorInvalidValue, "the numbers of blocks and threads must be at least 1");
        const auto kernel = kernel_of(function, name);
        const auto& profile = kernel->profile();
        if (driver::active_blocks(profile, profile.max_threads_per_block, static_cast<std::uint64_t>(threads),
                                  0) < static_cast<unsigned>(blocks))
            fail(name, cudaErrorInvalidValue,
                 "no multiprocessor holds " + std::to_string(blocks) + " blocks of " +
                     std::to_string(threads) + " threads");
        // As an H200 answers: what is reserved for each block is not counted.
        const std::uint64_t of_each = profile.shared_per_multiprocessor / static_cast<unsigned>(blocks);
        const std::uint64_t used = kernel->static_shared_bytes();
        *shared_bytes = of_each > used ? std::min(of_each - used, kernel->most_dynamic_shared_bytes()) : 0;
    });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* configuration) {
    constexpr auto name = "cudaOccupancyMaxPotentialClusterSize";
    return call(name, [&] {
        require_argument(name, size, "what the size is written to");
        require_argument(name, configuration, "the configuration");
        const auto kernel = kernel_of(function, name);
        *size = resident_blocks(*kernel, *configuration) == 0
                    ? 0
                    : static_cast<int>(kernel->most_cluster_blocks());
    });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* configuration) {
    constexpr auto name = "cudaOccupancyMaxActiveClusters";
    return call(name, [&] {
        require_argument(name, clusters, "what the number is written to");
        require_argument(name, configuration, "the configuration");
        const auto kernel = kernel_of(function, name);
        const auto cluster = cluster_of(*kernel, *configuration, name);
        if (cluster.volume() == 0 || cluster.volume() > kernel->most_cluster_blocks())
            fail(name, cudaErrorInvalidClusterSize,
                 "clusters of " + std::to_string(cluster.volume()) + " blocks");
        *clusters = static_cast<int>(execution::active_clusters(kernel->profile(), cluster.volume(),
                                                                resident_blocks(*kernel, *configuration)));
    });
}
}
