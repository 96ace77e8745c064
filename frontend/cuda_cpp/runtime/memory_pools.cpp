// Page "Stream Ordered Memory Allocator" of the CUDA Runtime API.
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/host_findings.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/memory_pool.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

using PoolPtr = std::shared_ptr<driver::MemoryPool>;

/// Handles of pools: their addresses. A pool is kept as long as its handle is good.
class PoolHandles {
  public:
    cudaMemPool_t handle_of(const PoolPtr& pool) {
        const std::lock_guard lock(mutex_);
        pools_[pool.get()] = pool;
        return reinterpret_cast<cudaMemPool_t>(pool.get());
    }
    PoolPtr require(const HostCall& host, cudaMemPool_t handle) {
        const std::lock_guard lock(mutex_);
        const auto found = pools_.find(reinterpret_cast<const driver::MemoryPool*>(handle));
        if (found == pools_.end()) refuse(host.function, "this is no memory pool, or one that was destroyed");
        return found->second;
    }
    void forget(const PoolPtr& pool) {
        const std::lock_guard lock(mutex_);
        pools_.erase(pool.get());
    }

  private:
    std::mutex mutex_;
    std::map<const driver::MemoryPool*, PoolPtr> pools_;
};

PoolHandles& handles() {
    static PoolHandles& only = *new PoolHandles;
    return only;
}

std::shared_ptr<driver::Context> context_of(const HostCall& host, int device) {
    return Process::get().device(device, host.function);
}

std::shared_ptr<driver::Context> context_of(const HostCall& host, const PoolPtr& pool) {
    return context_of(host, pool->device());
}

std::shared_ptr<driver::Context> context_of(const HostCall& host, const cudaMemLocation* location,
                                            cudaMemAllocationType type) {
    require_argument(host.function, location, "the location");
    if (location->type == cudaMemLocationTypeInvalid || type == cudaMemAllocationTypeInvalid)
        refuse(host.function, "no location, or no type of allocations");
    if (location->type != cudaMemLocationTypeDevice || type != cudaMemAllocationTypePinned)
        refuse(host.function, "only devices have memory pools here, of pinned allocations",
               cudaErrorNotSupported);
    if (location->id < 0 || location->id >= Process::get().device_count())
        refuse(host.function, "there is no device " + std::to_string(location->id));
    return context_of(host, location->id);
}

/// Flags are int for programs, counts are 64 bits wide (cudaMemPoolSetAttribute).
bool is_flag(cudaMemPoolAttr attribute) {
    return attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

void require_bytes(const HostCall& host, std::size_t bytes) {
    if (bytes >= std::size_t{1} << 62)
        refuse(host.function, std::to_string(bytes) + " bytes: no memory is so large; was the size negative?",
               cudaErrorMemoryAllocation);
}

}  // namespace

extern "C" {

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        const auto current = Process::get().usable(host.function);
        const auto key = stream_of(current, stream, host.function);
        require_bytes(host, bytes);
        *pointer = nullptr;
        if (bytes == 0) return;
        *pointer = reinterpret_cast<void*>(
            driver::mem_alloc_async(current, bytes, key, host.label(), place_in_stream(host)));
    });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        const auto current = Process::get().current();
        const auto key = stream_of(current, stream, host.function);
        const auto known = handles().require(host, pool);
        require_bytes(host, bytes);
        *pointer = nullptr;
        if (bytes == 0) return current->require_usable(host.function);
        *pointer = reinterpret_cast<void*>(driver::mem_alloc_from_pool_async(
            context_of(host, known), known, bytes, key, host.label(), place_in_stream(host)));
    });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto current = Process::get().current();
        const auto key = stream_of(current, stream, host.function);
        if (pointer != nullptr)
            driver::mem_free_async(current, address_of(pointer), key, place_in_stream(host));
    });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pool, "what the pool is written to");
        require_argument(host.function, properties, "the properties");
        const auto context = context_of(host, &properties->location, properties->allocType);
        if (properties->handleTypes & ~(cudaMemHandleTypePosixFileDescriptor | cudaMemHandleTypeFabric))
            refuse(host.function, "pools cannot be shared with handles of this type", cudaErrorNotSupported);
        (void)Process::get().current();
        *pool = handles().handle_of(context->pools().create(properties->maxSize));
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto known = handles().require(host, pool);
        context_of(host, known)->pools().destroy(known);
        handles().forget(known);
    });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto known = handles().require(host, pool);
        context_of(host, known)->pools().trim(*known, bytes_to_keep);
    });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, value, "the value");
        const auto known = handles().require(host, pool);
        const std::uint64_t number = is_flag(attribute) ? std::uint64_t{*static_cast<int*>(value) != 0}
                                                        : *static_cast<std::uint64_t*>(value);
        context_of(host, known)
            ->pools()
            .set_attribute(*known, static_cast<driver::PoolAttribute>(attribute), number);
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, value, "what the value is written to");
        const auto known = handles().require(host, pool);
        const std::uint64_t number =
            context_of(host, known)->pools().attribute(*known, static_cast<driver::PoolAttribute>(attribute));
        if (is_flag(attribute))
            *static_cast<int*>(value) = static_cast<int>(number);
        else
            *static_cast<std::uint64_t*>(value) = number;
    });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* descriptions, size_t count) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto owner = context_of(host, handles().require(host, pool));
        if (count != 0) require_argument(host.function, descriptions, "the list of devices");
        for (std::size_t i = 0; i < count; ++i) {
            const auto& each = descriptions[i];
            if (each.location.type != cudaMemLocationTypeDevice)
                refuse(host.function, "only devices use pools");
            const auto peer = context_of(host, each.location.id);
            if (each.flags == cudaMemAccessFlagsProtReadWrite) {
                if (peer != owner && !peer->may_use_memory_of(*owner)) peer->enable_peer_access(*owner);
            } else if (each.flags == cudaMemAccessFlagsProtNone && peer != owner) {
                if (peer->may_use_memory_of(*owner)) peer->disable_peer_access(*owner);
            } else {
                refuse(host.function, "a device cannot use a pool in this way; its own device always can");
            }
        }
    });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, flags, "what the access is written to");
        const auto owner = context_of(host, handles().require(host, pool));
        const auto peer = context_of(host, location, cudaMemAllocationTypePinned);
        *flags = peer == owner || peer->may_use_memory_of(*owner) ? cudaMemAccessFlagsProtReadWrite
                                                                  : cudaMemAccessFlagsProtNone;
    });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pool, "what the pool is written to");
        *pool = handles().handle_of(context_of(host, device)->pools().default_pool());
    });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pool, "what the pool is written to");
        *pool = handles().handle_of(context_of(host, device)->pools().current());
    });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto context = context_of(host, device);
        context->pools().set_current(handles().require(host, pool));
    });
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pool, "what the pool is written to");
        *pool = handles().handle_of(context_of(host, location, type)->pools().default_pool());
    });
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pool, "what the pool is written to");
        *pool = handles().handle_of(context_of(host, location, type)->pools().current());
    });
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(
        host, [&] { context_of(host, location, type)->pools().set_current(handles().require(host, pool)); });
}
}
