// Managed memory (CUDA Runtime API, "Memory Management"): it lies where host and kernels use it, so that
// advice and prefetches move nothing; what was said last can be asked.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/managed_variables.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/memory.h"
#include "simulator/driver/stream_work.h"
#include "simulator/memory/arena.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

/// What was said of the managed memory from an address on, up to the next entry.
struct Advice {
    bool read_mostly = false;
    cudaMemLocation preferred{cudaMemLocationTypeInvalid, cudaInvalidDeviceId};
    cudaMemLocation last_prefetch{cudaMemLocationTypeInvalid, cudaInvalidDeviceId};
    std::set<int> accessed_by;  ///< devices; cudaCpuDeviceId
};

/// Of all managed memory. What an allocation was told is forgotten when another one is made at its place.
class AllAdvice {
  public:
    void forget(std::uint64_t first, std::uint64_t bytes) {
        change(first, bytes, [](Advice& advice) { advice = {}; });
    }
    template <typename Change>
    void change(std::uint64_t first, std::uint64_t bytes, Change change_one) {
        const std::lock_guard lock(mutex_);
        split(first), split(first + bytes);
        for (auto it = parts_.find(first); it != parts_.end() && it->first < first + bytes; ++it)
            change_one(it->second);
    }
    /// visit(const Advice&) for all parts of the range.
    template <typename Visit>
    void look(std::uint64_t first, std::uint64_t bytes, Visit visit) {
        const std::lock_guard lock(mutex_);
        split(first), split(first + bytes);
        for (auto it = parts_.find(first); it != parts_.end() && it->first < first + bytes; ++it)
            visit(it->second);
    }

  private:
    /// Lets a part begin at the address.
    void split(std::uint64_t at) {
        auto next = parts_.upper_bound(at);
        parts_.try_emplace(at, next == parts_.begin() ? Advice{} : std::prev(next)->second);
    }
    std::mutex mutex_;
    std::map<std::uint64_t, Advice> parts_;
};

AllAdvice& all_advice() {
    static AllAdvice& only = *new AllAdvice;
    return only;
}

/// @throws driver::Error with cudaErrorInvalidValue for a pointer to other memory
execution::AddressRange managed_range(const HostCall& host, const void* pointer) {
    const auto range = driver::HostRanges::of_this_process().find(address_of(pointer));
    if (range && range->kind == driver::HostMemory::managed) return {range->address, range->bytes};
    // A variable that no device knows yet.
    const auto variable = ManagedVariables::of_this_process().range(pointer);
    if (!variable) refuse(host.function, "this is no managed memory (cudaMallocManaged, __managed__)");
    return *variable;
}

/// @throws driver::Error with cudaErrorInvalidValue for a range that is not managed memory
std::uint64_t require_managed(const HostCall& host, const void* pointer, std::size_t bytes) {
    const std::uint64_t address = address_of(pointer);
    const auto range = managed_range(host, pointer);
    if (bytes == 0 || bytes > range.bytes || address - range.base > range.bytes - bytes)
        refuse(host.function, std::to_string(bytes) + " bytes do not lie in the managed memory, which has " +
                                  std::to_string(range.bytes) + " bytes");
    return address;
}

void require_location(const HostCall& host, const cudaMemLocation& location) {
    if (location.type == cudaMemLocationTypeDevice)
        (void)driver::Devices::of_this_process().get(location.id, host.function);
    else if (location.type != cudaMemLocationTypeHost && location.type != cudaMemLocationTypeHostNuma &&
             location.type != cudaMemLocationTypeHostNumaCurrent)
        refuse(host.function, "there is no location of type " + std::to_string(location.type));
}

/// For advice every location that is none is an invalid value, also the number of a device.
void require_advised(const HostCall& host, const cudaMemLocation& location) {
    if (location.type == cudaMemLocationTypeDevice &&
        (location.id < 0 || location.id >= Process::get().device_count()))
        refuse(host.function, "there is no device " + std::to_string(location.id));
    require_location(host, location);
}

void require_accessing(const HostCall& host, const cudaMemLocation& location) {
    require_advised(host, location);
    if (location.type != cudaMemLocationTypeDevice && location.type != cudaMemLocationTypeHost)
        refuse(host.function, "only devices and the host access memory, no NUMA node alone");
}

/// The number by which attributes name a location: a device's, or cudaCpuDeviceId.
int number_of(const cudaMemLocation& location) {
    if (location.type == cudaMemLocationTypeDevice) return location.id;
    return location.type == cudaMemLocationTypeInvalid ? cudaInvalidDeviceId : cudaCpuDeviceId;
}

void prefetch(const HostCall& host, const void* pointer, std::size_t bytes, const cudaMemLocation& location,
              cudaStream_t stream) {
    const auto current = Process::get().current();
    current->require_usable(host.function);
    require_location(host, location);
    (void)stream_of(current, stream, host.function);
    const std::uint64_t address = require_managed(host, pointer, bytes);
    all_advice().change(address, bytes, [&](Advice& advice) { advice.last_prefetch = location; });
}

void prefetch_batch(const HostCall& host, void** pointers, const std::size_t* bytes, std::size_t count,
                    const cudaMemLocation* locations, const std::size_t* location_indices,
                    std::size_t location_count, unsigned long long flags, cudaStream_t stream) {
    if (flags != 0) refuse(host.function, "the flags have to be 0");
    if (!pointers || !bytes || count == 0 || !locations || !location_indices || location_count == 0 ||
        location_count > count)
        refuse(host.function, "the locations do not fit the ranges");
    require_arrays(host.function, count, pointers, bytes);
    require_arrays(host.function, location_count, locations, location_indices);
    if (location_indices[0] != 0) refuse(host.function, "the first location is not that of the first range");
    for (std::size_t i = 0, location = 0; i < count; ++i) {
        while (location + 1 < location_count && location_indices[location + 1] <= i) ++location;
        prefetch(host, pointers[i], bytes[i], locations[location], stream);
    }
}

/// What the memory holds is nobody's any more: kernels and copies that read it before it is written read
/// poison.
void discard(const HostCall& host, void** pointers, const std::size_t* bytes, std::size_t count,
             unsigned long long flags, cudaStream_t stream) {
    const auto current = Process::get().current();
    const auto key = stream_of(current, stream, host.function);
    if (flags != 0) refuse(host.function, "the flags have to be 0");
    if (!pointers || !bytes || count == 0) refuse(host.function, "there are no ranges");
    require_arrays(host.function, count, pointers, bytes);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t address = require_managed(host, pointers[i], bytes[i]);
        driver::StreamWork::of_this_process().submit(
            key,
            [address, size = bytes[i]] { memory::fill_poison(reinterpret_cast<std::byte*>(address), size); },
            {});
    }
}

/// The value that all parts of the range have in common, else `otherwise`.
template <typename Value, typename ValueOf>
Value common(std::uint64_t first, std::size_t bytes, Value otherwise, ValueOf value_of) {
    std::optional<Value> found;
    bool differ = false;
    all_advice().look(first, bytes, [&](const Advice& advice) {
        const Value value = value_of(advice);
        differ = differ || (found && *found != value);
        found = value;
    });
    return differ || !found ? otherwise : *found;
}

void get_attribute(const HostCall& host, void* data, std::size_t data_bytes, cudaMemRangeAttribute attribute,
                   const void* pointer, std::size_t bytes) {
    require_argument(host.function, data, "what the attribute is written to");
    const std::uint64_t address = require_managed(host, pointer, bytes);
    if (data_bytes == 0 || data_bytes % sizeof(int) != 0 ||
        (data_bytes != sizeof(int) && attribute != cudaMemRangeAttributeAccessedBy))
        refuse(host.function, "the attribute does not fit into " + std::to_string(data_bytes) + " bytes");
    auto* const values = static_cast<int*>(data);
    const auto location = [&](cudaMemLocation Advice::* which, bool type) {
        return common<int>(address, bytes, type ? int{cudaMemLocationTypeInvalid} : cudaInvalidDeviceId,
                           [&](const Advice& advice) {
                               const auto& place = advice.*which;
                               return type ? static_cast<int>(place.type) : number_of(place);
                           });
    };
    switch (attribute) {
        case cudaMemRangeAttributeReadMostly:
            *values = common<int>(address, bytes, 0, [](const Advice& advice) { return advice.read_mostly; });
            return;
        case cudaMemRangeAttributeAccessedBy: {
            const auto devices = common<std::set<int>>(
                address, bytes, {}, [](const Advice& advice) { return advice.accessed_by; });
            std::fill_n(values, data_bytes / sizeof(int), int{cudaInvalidDeviceId});
            // The host, whose number is negative, comes last.
            std::vector<int> in_order(devices.begin(), devices.end());
            std::ranges::sort(in_order, {}, [](int number) { return static_cast<unsigned>(number); });
            std::copy_n(in_order.begin(), std::min(in_order.size(), data_bytes / sizeof(int)), values);
            return;
        }
        case cudaMemRangeAttributePreferredLocation:
        case cudaMemRangeAttributePreferredLocationId:
            *values = location(&Advice::preferred, false);
            return;
        case cudaMemRangeAttributePreferredLocationType:
            *values = location(&Advice::preferred, true);
            return;
        case cudaMemRangeAttributeLastPrefetchLocation:
        case cudaMemRangeAttributeLastPrefetchLocationId:
            *values = location(&Advice::last_prefetch, false);
            return;
        case cudaMemRangeAttributeLastPrefetchLocationType:
            *values = location(&Advice::last_prefetch, true);
            return;
    }
    refuse(host.function, "there is no attribute " + std::to_string(static_cast<int>(attribute)));
}

}  // namespace

extern "C" {

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        const auto current = Process::get().current();
        current->require_usable(host.function);
        if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
            refuse(host.function, "the flags have to be cudaMemAttachGlobal or cudaMemAttachHost");
        *pointer = nullptr;
        if (bytes == 0) return;
        if (bytes >= std::size_t{1} << 62)
            refuse(host.function,
                   std::to_string(bytes) + " bytes: no memory is so large; was the size negative?",
                   cudaErrorMemoryAllocation);
        const auto address = driver::mem_alloc_managed(current, bytes, host.label());
        all_advice().forget(address, bytes);
        *pointer = reinterpret_cast<void*>(address);
    });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        if (flags != 0) refuse(host.function, "the flags have to be 0");
        prefetch(host, pointer, bytes, location, stream);
    });
}

cudaError_t cudaMemPrefetchBatchAsync(void** pointers, size_t* bytes, size_t count,
                                      cudaMemLocation* locations, size_t* location_indices,
                                      size_t location_count, unsigned long long flags, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        prefetch_batch(host, pointers, bytes, count, locations, location_indices, location_count, flags,
                       stream);
    });
}

cudaError_t cudaMemDiscardBatchAsync(void** pointers, size_t* bytes, size_t count, unsigned long long flags,
                                     cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { discard(host, pointers, bytes, count, flags, stream); });
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** pointers, size_t* bytes, size_t count,
                                                cudaMemLocation* locations, size_t* location_indices,
                                                size_t location_count, unsigned long long flags,
                                                cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        discard(host, pointers, bytes, count, flags, stream);
        prefetch_batch(host, pointers, bytes, count, locations, location_indices, location_count, flags,
                       stream);
    });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        (void)Process::get().current();
        if (static_cast<unsigned>(advice) - cudaMemAdviseSetReadMostly > cudaMemAdviseUnsetAccessedBy - 1U)
            refuse(host.function, "there is no advice " + std::to_string(static_cast<int>(advice)));
        const std::uint64_t address = require_managed(host, pointer, bytes);
        if (advice <= cudaMemAdviseUnsetReadMostly && location.type == cudaMemLocationTypeInvalid)
            refuse(host.function, "this location is none");
        const auto change = [&](auto change_one) { all_advice().change(address, bytes, change_one); };
        switch (advice) {
            case cudaMemAdviseSetReadMostly:
            case cudaMemAdviseUnsetReadMostly:
                return change([&](Advice& of) { of.read_mostly = advice == cudaMemAdviseSetReadMostly; });
            case cudaMemAdviseSetPreferredLocation:
                require_advised(host, location);
                return change([&](Advice& of) { of.preferred = location; });
            case cudaMemAdviseUnsetPreferredLocation:
                return change([&](Advice& of) { of.preferred = Advice{}.preferred; });
            case cudaMemAdviseSetAccessedBy:
                require_accessing(host, location);
                return change([&](Advice& of) { of.accessed_by.insert(number_of(location)); });
            case cudaMemAdviseUnsetAccessedBy:
                require_accessing(host, location);
                return change([&](Advice& of) { of.accessed_by.erase(number_of(location)); });
        }
    });
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t data_bytes, cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t bytes) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        (void)Process::get().current();
        get_attribute(host, data, data_bytes, attribute, pointer, bytes);
    });
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* data_bytes, cudaMemRangeAttribute* attributes,
                                      size_t count, const void* pointer, size_t bytes) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        (void)Process::get().current();
        if (!data || !data_bytes || !attributes || count == 0)
            refuse(host.function, "there are no attributes");
        require_arrays(host.function, count, data, data_bytes, attributes);
        for (std::size_t i = 0; i < count; ++i)
            get_attribute(host, data[i], data_bytes[i], attributes[i], pointer, bytes);
    });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes, unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const auto current = Process::get().current();
        (void)stream_of(current, stream, host.function);
        if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
            refuse(host.function, "there are no such flags: " + driver::hexadecimal(flags));
        if (flags == cudaMemAttachSingle && stream == nullptr)
            refuse(host.function, "memory cannot be attached to the default stream alone");
        const auto range = managed_range(host, pointer);
        if (address_of(pointer) != range.base || (bytes != 0 && bytes != range.bytes))
            refuse(host.function, "only a whole allocation of managed memory is attached");
    });
}
}
