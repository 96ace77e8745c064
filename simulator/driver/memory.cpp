// Memory that the driver gives out, on the engine's devices and on the host.
#include "simulator/driver/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "simulator/driver/memory_pool.h"
#include "simulator/driver/stream_work.h"

namespace cudasim::driver {

namespace {

std::uint64_t whole_pages(std::uint64_t bytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

[[noreturn]] void out_of_host_memory(std::uint64_t bytes) {
    throw Error("cuMemHostAlloc", CudaResult::out_of_memory,
                "the host cannot give " + std::to_string(bytes) + " bytes");
}

/// Memory of the arena that host code uses, too.
DevicePointer allocate_for_host(const std::shared_ptr<Context>& current, std::uint64_t bytes, HostMemory kind,
                                const std::string& label, const char* call) {
    bytes = std::max<std::uint64_t>(bytes, 1);
    const DevicePointer address = in_call(call, [&] {
        return current->engine()->device.allocate(bytes, {.label = label, .poison = true, .host = true});
    });
    current->engine()->written_memory().shared_with_others(address);
    (void)HostRanges::of_this_process().add({address, bytes, kind, false, current});
    return address;
}

/// @throws Error 1
void require_possible_size(const char* call, std::uint64_t bytes) {
    if (bytes < 1ULL << 63) return;
    throw Error(call, CudaResult::invalid_value, std::to_string(bytes) + " bytes: no memory is so large");
}

/// @throws Error 1
void require_host_memory(const char* call, const void* memory) {
    if (memory != nullptr) return;
    throw Error(call, CudaResult::invalid_value, "the host memory is a null pointer");
}

/// The engine of the device in whose memory the address lies, after the work that is enqueued there.
/// @throws Error of a context that is not usable
std::shared_ptr<SimulatedDevice> engine_after_its_work(const char* call,
                                                       const std::shared_ptr<Context>& current,
                                                       DevicePointer address) {
    current->require_usable(call);
    const auto owner = owner_of(current, address);
    StreamWork::of_this_process().synchronize_default(owner->device());
    return owner->engine();
}

}  // namespace

std::shared_ptr<Context> owner_of(const std::shared_ptr<Context>& current, std::uint64_t address) {
    const auto owns = [&](const Context& context) {
        const auto engine = context.engine();
        return engine && engine->device.owns(address);
    };
    if (owns(*current)) return current;
    for (auto& context : Context::all())
        if (owns(*context)) return context;
    return current;
}

DevicePointer mem_alloc(const Context& current, std::uint64_t bytes, const std::string& label, bool poison) {
    current.require_usable("cuMemAlloc");
    const DevicePointer pointer = in_call("cuMemAlloc", [&] {
        return current.engine()->device.allocate(bytes, {.label = label, .poison = poison});
    });
    current.note_allocation(pointer);
    return pointer;
}

void mem_free(const std::shared_ptr<Context>& current, DevicePointer pointer) {
    auto& ranges = HostRanges::of_this_process();
    const auto managed = [](const HostRange& range) { return range.kind == HostMemory::managed; };
    if (!ranges.take(pointer, managed) && ranges.starting_at(pointer))
        throw Error(
            "cuMemFree", CudaResult::invalid_value,
            "this is page-locked host memory, which cuMemFreeHost frees or cuMemHostUnregister unlocks");
    const auto owner = owner_of(current, pointer);
    // First from the context and its pool: once it is free, another thread may get this address.
    (void)owner->forget_allocation(pointer);
    if (owner->pools().begin_free(pointer, "cuMemFree")) (void)owner->pools().remove(pointer);
    in_call("cuMemFree", [&] { owner->engine()->free(pointer); });
}

execution::AddressRange mem_get_address_range(const std::shared_ptr<Context>& current,
                                              DevicePointer pointer) {
    return in_call("cuMemGetAddressRange",
                   [&] { return owner_of(current, pointer)->engine()->device.address_range(pointer); });
}

DevicePointer mem_alloc_managed(const std::shared_ptr<Context>& current, std::uint64_t bytes,
                                const std::string& label) {
    return allocate_for_host(current, bytes, HostMemory::managed, label, "cuMemAllocManaged");
}

std::uint64_t mem_host_alloc(const std::shared_ptr<Context>& current, std::uint64_t bytes, bool mapped,
                             const std::string& label) {
    if (mapped) return allocate_for_host(current, bytes, HostMemory::mapped, label, "cuMemHostAlloc");
    if (bytes > UINT64_MAX / 2) out_of_host_memory(bytes);
    const std::uint64_t needed = std::max<std::uint64_t>(bytes, 1);
    // Pages of its own, so that they can be protected (simulator/streams/page_watch.h).
    void* const memory =
        ::mmap(nullptr, whole_pages(needed), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) out_of_host_memory(bytes);
    const auto address = reinterpret_cast<std::uint64_t>(memory);
    (void)HostRanges::of_this_process().add({address, needed, HostMemory::pinned, false, current});
    return address;
}

void mem_free_host(std::uint64_t address) {
    const auto allocated = [](const HostRange& range) {
        return !range.registered && range.kind != HostMemory::managed;
    };
    const auto range = HostRanges::of_this_process().take(address, allocated);
    if (!range)
        throw Error("cuMemFreeHost", CudaResult::invalid_value,
                    "no page-locked memory was allocated at " + hexadecimal(address));
    if (range->kind == HostMemory::pinned)
        (void)::munmap(reinterpret_cast<void*>(address), whole_pages(range->bytes));
    else
        in_call("cuMemFreeHost", [&] { range->context->engine()->free(address); });
}

void mem_host_register(const std::shared_ptr<Context>& current, std::uint64_t address, std::uint64_t bytes,
                       bool mapped, const std::string& label) {
    constexpr auto call = "cuMemHostRegister";
    if (bytes == 0)
        throw Error(call, CudaResult::invalid_value,
                    "there are no " + std::to_string(bytes) + " bytes of memory to page-lock");
    auto& ranges = HostRanges::of_this_process();
    const HostMemory kind = mapped ? HostMemory::mapped : HostMemory::pinned;
    if (!ranges.add({address, bytes, kind, true, current}))
        throw Error(call, CudaResult::host_memory_already_registered,
                    "part of this memory is page-locked already");
    if (!mapped) return;
    try {
        in_call(call, [&] { current->engine()->device.adopt(address, bytes, label); });
    } catch (...) {
        (void)ranges.take(address, [](const HostRange&) { return true; });
        throw;
    }
}

void mem_host_unregister(std::uint64_t address) {
    constexpr auto call = "cuMemHostUnregister";
    const auto range = HostRanges::of_this_process().take(address, std::mem_fn(&HostRange::registered));
    if (!range)
        throw Error(call, CudaResult::host_memory_not_registered,
                    "no memory was page-locked at " + hexadecimal(address));
    if (range->kind == HostMemory::mapped) in_call(call, [&] { range->context->engine()->free(address); });
}

DevicePointer mem_host_get_device_pointer(std::uint64_t address) {
    const auto range = HostRanges::of_this_process().find(address);
    if (range && range->kind != HostMemory::pinned) return address;
    throw Error("cuMemHostGetDevicePointer", CudaResult::invalid_value,
                range ? "this page-locked memory is not mapped" : "this is no page-locked memory");
}

void memcpy_htod(const std::shared_ptr<Context>& current, DevicePointer target, const void* source,
                 std::uint64_t bytes) {
    constexpr auto call = "cuMemcpyHtoD";
    require_possible_size(call, bytes);
    if (bytes == 0) return;
    require_host_memory(call, source);
    const auto engine = engine_after_its_work(call, current, target);
    in_call(call, [&] { engine->device.copy_to_device(target, source, bytes); });
}

void memcpy_dtoh(const std::shared_ptr<Context>& current, void* target, DevicePointer source,
                 std::uint64_t bytes) {
    constexpr auto call = "cuMemcpyDtoH";
    require_possible_size(call, bytes);
    if (bytes == 0) return;
    require_host_memory(call, target);
    const auto engine = engine_after_its_work(call, current, source);
    in_call(call, [&] { engine->device.copy_from_device(target, source, bytes); });
}

void memcpy_dtod(const std::shared_ptr<Context>& current, DevicePointer target, DevicePointer source,
                 std::uint64_t bytes) {
    constexpr auto call = "cuMemcpyDtoD";
    require_possible_size(call, bytes);
    if (bytes == 0) return;
    const auto from = engine_after_its_work(call, current, source),
               to = engine_after_its_work(call, current, target);
    in_call(call, [&] {
        if (from == to)
            to->device.copy_within_device(target, source, bytes);
        else
            to->device.copy_from_peer(target, from->device, source, bytes);
    });
}

void memset_d8(const std::shared_ptr<Context>& current, DevicePointer target, std::uint8_t value,
               std::uint64_t bytes) {
    constexpr auto call = "cuMemsetD8";
    require_possible_size(call, bytes);
    if (bytes == 0) return;
    const auto engine = engine_after_its_work(call, current, target);
    in_call(call, [&] { engine->device.fill(target, value, bytes); });
}

namespace {

void enqueue(InStream in, bool synchronous, std::function<void()> work) {
    StreamWork::of_this_process().submit(in.stream, std::move(work),
                                         {.synchronous = synchronous, .place = std::move(in.place)});
}

bool is_pageable(const void* host_memory) {
    return !is_page_locked(reinterpret_cast<std::uint64_t>(host_memory));
}

}  // namespace

void memcpy_htod_async(const std::shared_ptr<Context>& current, DevicePointer target, const void* source,
                       std::uint64_t bytes, InStream in) {
    enqueue(std::move(in), is_pageable(source), [=] { memcpy_htod(current, target, source, bytes); });
}

void memcpy_dtoh_async(const std::shared_ptr<Context>& current, void* target, DevicePointer source,
                       std::uint64_t bytes, InStream in) {
    enqueue(std::move(in), is_pageable(target), [=] { memcpy_dtoh(current, target, source, bytes); });
}

void memcpy_dtod_async(const std::shared_ptr<Context>& current, DevicePointer target, DevicePointer source,
                       std::uint64_t bytes, InStream in) {
    enqueue(std::move(in), false, [=] { memcpy_dtod(current, target, source, bytes); });
}

void memset_d8_async(const std::shared_ptr<Context>& current, DevicePointer target, std::uint8_t value,
                     std::uint64_t bytes, InStream in) {
    enqueue(std::move(in), false, [=] { memset_d8(current, target, value, bytes); });
}

execution::MemoryInfo mem_get_info(const Context& current) {
    return current.engine()->device.memory_info();
}

bool is_page_locked(std::uint64_t host_address) {
    return HostRanges::of_this_process().find(host_address).has_value();
}

PointerAttributes pointer_attributes(const std::shared_ptr<Context>& current, std::uint64_t address) {
    if (const auto range = HostRanges::of_this_process().find(address)) {
        const bool managed = range->kind == HostMemory::managed;
        return {.host = !managed, .managed = managed, .device = range->context->device()};
    }
    const auto owner = owner_of(current, address);
    if (!owner->engine()->device.contains(address, 1))
        throw Error("cuPointerGetAttribute", CudaResult::invalid_value,
                    "no memory of CUDA's is at " + hexadecimal(address));
    return {.device = owner->device()};
}

}  // namespace cudasim::driver
