// Pages "Memory Management", "Unified Addressing" and "Virtual Memory Management". Whatever changes memory,
// or who can use it, waits for the work of the device first.
#include <cstring>

#include "tests/gpu_backend/libcuda/stand_in/address_space.h"
#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::stand_in {
namespace {

AddressSpace& memory() {
    return AddressSpace::of_this_process();
}

/// The current device, which has nothing left to do.
Result current_and_idle(Gpu*& gpu) {
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    return gpu->synchronise();
}

/// The device of a location. @return what a call has to answer where there is none
Result find(const Location& location, Gpu*& gpu) {
    if (location.type != LocationType::device) return Result::invalid_value;
    gpu = Gpu::at(location.id);
    return gpu != nullptr ? Result::success : Result::invalid_device;
}

Result check(const AllocationProperties* properties, Gpu*& gpu) {
    if (!Gpu::is_initialised()) return Result::not_initialized;
    if (properties == nullptr || properties->type != AllocationType::pinned) return Result::invalid_value;
    if (!settings().virtual_memory) return Result::not_supported;
    return find(properties->location, gpu);
}

}  // namespace

Result Behaviour::cuMemGetInfo(std::size_t* free, std::size_t* total) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (free == nullptr || total == nullptr) return Result::invalid_value;
    *total = settings().memory;
    *free = *total - std::min<std::size_t>(*total, gpu->memory_in_use);
    return Result::success;
}

Result Behaviour::cuMemAlloc(DevicePointer* address, std::size_t bytes) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (address == nullptr) return Result::invalid_value;
    return memory().allocate(*gpu, bytes, *address);
}

Result Behaviour::cuMemFree(DevicePointer address) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    return memory().free(*gpu, address);
}

Result Behaviour::cuMemcpyHtoD(DevicePointer to, const void* from, std::size_t bytes) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    if (bytes == 0) return Result::success;
    if (from == nullptr || !memory().is_accessible(*gpu, to, bytes, true)) return Result::invalid_value;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return Result::success;
}

Result Behaviour::cuMemcpyDtoH(void* to, DevicePointer from, std::size_t bytes) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    if (bytes == 0) return Result::success;
    if (to == nullptr || !memory().is_accessible(*gpu, from, bytes, false)) return Result::invalid_value;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return Result::success;
}

Result Behaviour::cuMemsetD8(DevicePointer address, unsigned char value, std::size_t bytes) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    if (bytes == 0) return Result::success;
    if (!memory().is_accessible(*gpu, address, bytes, true)) return Result::invalid_value;
    std::memset(reinterpret_cast<void*>(address), value, bytes);
    return Result::success;
}

Result Behaviour::cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePointer address) {
    if (!Gpu::is_initialised()) return Result::not_initialized;
    if (value == nullptr) return Result::invalid_value;
    const auto owner = memory().owner_of(address);
    if (!owner) return Result::invalid_value;
    if (owner->gpu.fault() != Result::success) return owner->gpu.fault();
    switch (attribute) {
        case PointerAttribute::context:
            if (owner->is_mapped) return Result::invalid_value;
            *static_cast<Context*>(value) = owner->gpu.primary_context();
            return Result::success;
        case PointerAttribute::device_ordinal:
            *static_cast<int*>(value) = owner->gpu.ordinal();
            return Result::success;
    }
    return Result::invalid_value;
}

Result Behaviour::cuMemHostRegister(void* address, std::size_t bytes, unsigned flags) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    constexpr unsigned portable_or_mapped = 3;
    if ((flags & ~portable_or_mapped) != 0) return Result::invalid_value;
    return memory().register_host(*gpu, address, bytes);
}

Result Behaviour::cuMemHostUnregister(void* address) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    return memory().unregister_host(*gpu, address);
}

Result Behaviour::cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties* properties,
                                                Granularity which) {
    Gpu* gpu = nullptr;
    if (const Result wrong = check(properties, gpu); wrong != Result::success) return wrong;
    if (bytes == nullptr || (which != Granularity::minimum && which != Granularity::recommended))
        return Result::invalid_value;
    *bytes = AddressSpace::granularity;
    return Result::success;
}

Result Behaviour::cuMemAddressReserve(DevicePointer* address, std::size_t bytes, std::size_t alignment,
                                      DevicePointer hint, unsigned long long flags) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (address == nullptr || flags != 0) return Result::invalid_value;
    return memory().reserve(bytes, alignment, hint, *address);
}

Result Behaviour::cuMemAddressFree(DevicePointer address, std::size_t bytes) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    return memory().unreserve(address, bytes);
}

Result Behaviour::cuMemCreate(AllocationHandle* handle, std::size_t bytes,
                              const AllocationProperties* properties, unsigned long long flags) {
    Gpu *current = nullptr, *owner = nullptr;
    if (const Result wrong = Gpu::current(current); wrong != Result::success) return wrong;
    if (const Result wrong = check(properties, owner); wrong != Result::success) return wrong;
    if (handle == nullptr || flags != 0) return Result::invalid_value;
    return memory().create(*owner, bytes, *handle);
}

Result Behaviour::cuMemRelease(AllocationHandle handle) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    return memory().release(handle);
}

Result Behaviour::cuMemMap(DevicePointer address, std::size_t bytes, std::size_t offset,
                           AllocationHandle handle, unsigned long long flags) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (flags != 0) return Result::invalid_value;
    return memory().map(address, bytes, offset, handle);
}

Result Behaviour::cuMemUnmap(DevicePointer address, std::size_t bytes) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    return memory().unmap(address, bytes);
}

Result Behaviour::cuMemSetAccess(DevicePointer address, std::size_t bytes,
                                 const AccessDescription* descriptions, std::size_t count) {
    Gpu* gpu = nullptr;
    if (const Result wrong = current_and_idle(gpu); wrong != Result::success) return wrong;
    if (descriptions == nullptr || count == 0) return Result::invalid_value;
    for (std::size_t i = 0; i < count; ++i) {
        Gpu* user = nullptr;
        if (const Result wrong = find(descriptions[i].location, user); wrong != Result::success) return wrong;
        const Result result = memory().set_access(address, bytes, *user, descriptions[i].flags);
        if (result != Result::success) return result;
    }
    return Result::success;
}

}  // namespace cudasim::stand_in
