// Page "Memory Management" of the CUDA Runtime API: what gives memory and takes it back. The others are
// memory_copies.cpp, memory_fills.cpp, memory_managed.cpp, memory_pools.cpp, arrays.cpp, symbols.cpp.
#include "simulator/driver/memory.h"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/managed_variables.h"
#include "frontend/cuda_cpp/runtime/process.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

/// A multiple of what rows of textures need on all GPUs (cudaDevAttrTexturePitchAlignment is 32), and of the
/// width of a memory transaction.
constexpr std::size_t pitch_alignment = 512;

constexpr unsigned known_allocation_flags =
    cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr unsigned known_registration_flags =
    cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;

/// cudaHostGetFlags() asks for them.
class HostFlags {
  public:
    void note(std::uint64_t address, unsigned flags) {
        const std::lock_guard lock(mutex_);
        flags_[address] = flags;
    }
    void forget(std::uint64_t address) {
        const std::lock_guard lock(mutex_);
        flags_.erase(address);
    }
    [[nodiscard]] unsigned of(std::uint64_t address) const {
        const std::lock_guard lock(mutex_);
        const auto found = flags_.find(address);
        return found == flags_.end() ? cudaHostAllocMapped : found->second;
    }

  private:
    mutable std::mutex mutex_;
    std::map<std::uint64_t, unsigned> flags_;
};

HostFlags& host_flags() {
    static HostFlags& flags = *new HostFlags;
    return flags;
}

/// Page-locked memory can be used by kernels on every system with unified addressing, whatever the flags say
/// (CUDA C++ Programming Guide, "Unified Virtual Address Space").
void* allocate_host(const HostCall& host, std::size_t bytes) {
    const auto current = Process::get().usable(host.function);
    if (bytes == 0) return nullptr;
    return reinterpret_cast<void*>(driver::mem_host_alloc(current, bytes, true, host.label()));
}

/// Memory that CUDA has allocated is not registered.
void require_unknown(const HostCall& host, const std::shared_ptr<driver::Context>& current,
                     std::uint64_t address) {
    const auto range = driver::HostRanges::of_this_process().find(address);
    if (range ? !range->registered : driver::owner_of(current, address)->engine()->device.owns(address))
        refuse(host.function, "this is memory that was allocated by CUDA");
}

void require_size(const HostCall& host, std::size_t bytes) {
    if (bytes < std::size_t{1} << 62) return;
    refuse(host.function, std::to_string(bytes) + " bytes: no memory is so large; was the size negative?",
           cudaErrorMemoryAllocation);
}

/// Of rows of `width` bytes; 0 where there are none.
std::size_t pitch_of(const HostCall& host, std::size_t width, std::size_t rows) {
    constexpr auto too_wide = std::size_t{1} << 62;
    if (width > too_wide) refuse(host.function, "no memory has rows of " + std::to_string(width) + " bytes");
    return rows == 0 ? 0 : (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
}

std::size_t product(const HostCall& host, std::size_t one, std::size_t other) {
    std::size_t result = 0;
    if (__builtin_mul_overflow(one, other, &result))
        refuse(host.function,
               std::to_string(one) + " times " + std::to_string(other) + " bytes: no memory is so large");
    require_size(host, result);
    return result;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        const auto current = Process::get().current();
        *pointer = nullptr;
        require_size(host, bytes);
        if (bytes == 0) return;
        *pointer = reinterpret_cast<void*>(driver::mem_alloc(*current, bytes, host.label()));
    });
}

cudaError_t cudaFree(void* pointer) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto current = Process::get().current();
        current->require_usable(host.function);
        if (pointer == nullptr) return;
        if (ManagedVariables::of_this_process().contains(pointer))
            refuse(host.function, "this is a __managed__ variable, which is never freed");
        driver::mem_free(current, address_of(pointer));
    });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        require_argument(host.function, pitch, "what the pitch is written to");
        const auto current = Process::get().current();
        *pointer = nullptr;
        *pitch = pitch_of(host, width, height);
        if (const std::size_t bytes = product(host, *pitch, height))
            *pointer = reinterpret_cast<void*>(driver::mem_alloc(*current, bytes, host.label()));
    });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        const auto current = Process::get().current();
        const std::size_t rows = product(host, extent.height, extent.depth);
        *pointer = {nullptr, pitch_of(host, extent.width, rows), extent.width, extent.height};
        if (const std::size_t bytes = product(host, pointer->pitch, rows))
            pointer->ptr = reinterpret_cast<void*>(driver::mem_alloc(*current, bytes, host.label()));
    });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        require_size(host, bytes);
        *pointer = allocate_host(host, bytes);
        host_flags().note(address_of(*pointer), cudaHostAllocMapped);
    });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        if (flags & ~known_allocation_flags)
            refuse(host.function, "there are no such flags: " + driver::hexadecimal(flags));
        require_size(host, bytes);
        *pointer = allocate_host(host, bytes);
        host_flags().note(address_of(*pointer), flags | cudaHostAllocMapped);
    });
}

cudaError_t cudaFreeHost(void* pointer) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto current = Process::get().current();
        if (pointer != nullptr) {
            driver::mem_free_host(address_of(pointer));
            host_flags().forget(address_of(pointer));
        }
        current->require_usable(host.function);
    });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto current = Process::get().current();
        require_argument(host.function, pointer, "the memory");
        if (flags & ~known_registration_flags)
            refuse(host.function, "there are no such flags: " + driver::hexadecimal(flags));
        if (bytes > UINT64_MAX - address_of(pointer))
            refuse(host.function, std::to_string(bytes) + " bytes: no memory is so large");
        require_unknown(host, current, address_of(pointer));
        driver::mem_host_register(current, address_of(pointer), bytes, true, host.label());
        host_flags().note(address_of(pointer), flags | cudaHostRegisterMapped);
    });
}

cudaError_t cudaHostUnregister(void* pointer) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        (void)Process::get().current();
        require_argument(host.function, pointer, "the memory");
        if (const auto range = driver::HostRanges::of_this_process().find(address_of(pointer));
            range && (!range->registered || range->address != address_of(pointer)))
            refuse(host.function, range->registered ? "the memory was registered by a lower address"
                                                    : "this memory was not registered, but allocated");
        driver::mem_host_unregister(address_of(pointer));
        host_flags().forget(address_of(pointer));
    });
}

cudaError_t cudaHostGetDevicePointer(void** pointer, void* host_pointer, unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        if (flags != 0) refuse(host.function, "the flags have to be 0");
        (void)Process::get().current();
        *pointer = nullptr;
        if (const auto range = driver::HostRanges::of_this_process().find(address_of(host_pointer));
            range && range->kind == driver::HostMemory::managed)
            refuse(host.function, "this is managed memory: it has one address, of host and devices");
        *pointer = reinterpret_cast<void*>(driver::mem_host_get_device_pointer(address_of(host_pointer)));
    });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host_pointer) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, flags, "what the flags are written to");
        (void)Process::get().current();
        const auto range = driver::HostRanges::of_this_process().find(address_of(host_pointer));
        if (!range || range->kind == driver::HostMemory::managed)
            refuse(host.function, "this is no page-locked memory");
        *flags = host_flags().of(range->address);
    });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_optional(host.function, free_bytes, "what the free bytes are written to");
        require_optional(host.function, total_bytes, "what all bytes are written to");
        const auto info = driver::mem_get_info(*Process::get().usable(host.function));
        if (free_bytes != nullptr) *free_bytes = info.free;
        if (total_bytes != nullptr) *total_bytes = info.total;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, attributes, "what the attributes are written to");
        const auto current = Process::get().current();
        *attributes = {};
        void* const address = const_cast<void*>(pointer);
        const auto owner = driver::owner_of(current, address_of(pointer));
        if (!driver::is_page_locked(address_of(pointer)) &&
            !owner->engine()->device.contains(address_of(pointer), 1)) {
            // Since CUDA 11 other memory is no error.
            attributes->type = cudaMemoryTypeUnregistered;
            attributes->device = cudaInvalidDeviceId;
            attributes->hostPointer = address;
            return;
        }
        const auto known = driver::pointer_attributes(current, address_of(pointer));
        attributes->device = known.device;
        attributes->devicePointer = address;
        if (known.host || known.managed) attributes->hostPointer = address;
        attributes->type = known.managed ? cudaMemoryTypeManaged
                           : known.host  ? cudaMemoryTypeHost
                                         : cudaMemoryTypeDevice;
    });
}
}
