#include "tests/gpu_backend/libcuda/stand_in/address_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::stand_in {
namespace {

void* pointer(DevicePointer address) {
    return reinterpret_cast<void*>(address);
}

bool is_multiple(std::uint64_t bytes) {
    return bytes % AddressSpace::granularity == 0;
}

/// Address space without memory. @param flags MAP_FIXED or MAP_FIXED_NOREPLACE at `address`; 0: anywhere
/// @return 0 where there is none
DevicePointer map_nothing(DevicePointer address, std::uint64_t bytes, int flags) {
    void* mapped =
        mmap(pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (mapped == MAP_FAILED) return 0;
    const auto got = reinterpret_cast<DevicePointer>(mapped);
    if (flags == 0 || got == address) return got;
    munmap(mapped, bytes);  // an old kernel takes MAP_FIXED_NOREPLACE for a hint
    return 0;
}

DevicePointer map_nothing_anywhere(std::uint64_t bytes, std::uint64_t alignment) {
    const DevicePointer first = map_nothing(0, bytes + alignment, 0);
    if (first == 0) return 0;
    const DevicePointer aligned = (first + alignment - 1) / alignment * alignment;
    if (aligned > first) munmap(pointer(first), aligned - first);
    if (const std::uint64_t behind = first + alignment - aligned; behind > 0)
        munmap(pointer(aligned + bytes), behind);
    return aligned;
}

/// Counts memory as the device's. False where it has not so much.
bool take_memory(Gpu& gpu, std::uint64_t bytes) {
    const std::uint64_t total = settings().memory, used = gpu.memory_in_use;
    if (used > total || bytes > total - used) return false;
    gpu.memory_in_use += bytes;
    return true;
}

}  // namespace

AddressSpace& AddressSpace::of_this_process() {
    static auto* const instance = new AddressSpace;  // calls may come while the process ends
    return *instance;
}

AddressSpace::Physical::Physical(Gpu& owner, int descriptor, std::uint64_t size)
    : gpu(owner), file(descriptor), bytes(size) {}

AddressSpace::Physical::~Physical() {
    close(file);
    gpu.memory_in_use -= bytes;
}

Result AddressSpace::allocate(Gpu& gpu, std::uint64_t bytes, DevicePointer& address) {
    if (bytes == 0) return Result::invalid_value;
    if (bytes > settings().memory) return Result::out_of_memory;
    const std::uint64_t rounded = (bytes + granularity - 1) / granularity * granularity;
    const std::lock_guard lock(mutex_);
    if (!take_memory(gpu, rounded)) return Result::out_of_memory;
    const DevicePointer found = map_nothing_anywhere(rounded, granularity);
    if (found == 0 || mprotect(pointer(found), rounded, PROT_READ | PROT_WRITE) != 0 ||
        !gpu.engine().adopt(found, rounded, {})) {
        if (found != 0) munmap(pointer(found), rounded);
        gpu.memory_in_use -= rounded;
        return Result::out_of_memory;
    }
    ranges_[found] = {
        .kind = Range::Kind::allocation, .bytes = rounded, .gpu = &gpu, .access = AccessFlags::read_write};
    address = found;
    return Result::success;
}

Result AddressSpace::free(Gpu& gpu, DevicePointer address) {
    if (address == 0) return Result::success;
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(address);
    if (found == ranges_.end() || found->second.kind != Range::Kind::allocation || found->second.gpu != &gpu)
        return Result::invalid_value;
    const std::uint64_t bytes = found->second.bytes;
    take_access(address, found->second);
    munmap(pointer(address), bytes);
    gpu.memory_in_use -= bytes;
    ranges_.erase(found);
    return Result::success;
}

void AddressSpace::free_all(Gpu& gpu) {
    std::vector<DevicePointer> allocations;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [address, range] : ranges_)
            if (range.kind == Range::Kind::allocation && range.gpu == &gpu) allocations.push_back(address);
    }
    for (const auto address : allocations) (void)free(gpu, address);
}

Result AddressSpace::reserve(std::uint64_t bytes, std::uint64_t alignment, DevicePointer hint,
                             DevicePointer& address) {
    const bool is_aligned = alignment == 0 || std::has_single_bit(alignment);
    if (bytes == 0 || !is_multiple(bytes) || !is_multiple(hint) || !is_aligned) return Result::invalid_value;
    alignment = std::max(alignment, granularity);
    if (hint >= no_addresses || bytes >= no_addresses || alignment >= no_addresses)
        return Result::out_of_memory;
    const std::lock_guard lock(mutex_);
    DevicePointer found = 0;
    // Small ranges lie elsewhere, and hints are rounded up (docs/gpu_results.md, "Addresses").
    hint = (hint + hint_unit - 1) / hint_unit * hint_unit;
    const bool honoured = hint >= lowest_hint && hint + bytes <= highest_end && bytes >= hint_unit &&
                          hint % alignment == 0 && !settings().refuse_hints;
    if (honoured) found = map_nothing(hint, bytes, MAP_FIXED_NOREPLACE);
    if (found == 0) found = map_nothing_anywhere(bytes, alignment);
    if (found == 0) return Result::out_of_memory;
    reservations_[found] = bytes;
    address = found;
    return Result::success;
}

Result AddressSpace::unreserve(DevicePointer address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = reservations_.find(address);
    if (found == reservations_.end() || found->second != bytes) return Result::invalid_value;
    const auto mapping = ranges_.lower_bound(address);
    if (mapping != ranges_.end() && mapping->first < address + bytes) return Result::invalid_value;
    munmap(pointer(address), bytes);
    reservations_.erase(found);
    return Result::success;
}

Result AddressSpace::create(Gpu& gpu, std::uint64_t bytes, AllocationHandle& handle) {
    if (bytes == 0 || !is_multiple(bytes)) return Result::invalid_value;
    const std::lock_guard lock(mutex_);
    if (!take_memory(gpu, bytes)) return Result::out_of_memory;
    const int file = memfd_create("memory of a stand-in GPU", MFD_CLOEXEC);
    const auto physical = std::make_shared<Physical>(gpu, file, bytes);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return Result::out_of_memory;
    handle = next_handle_++;
    handles_[handle] = physical;
    return Result::success;
}

Result AddressSpace::release(AllocationHandle handle) {
    const std::lock_guard lock(mutex_);
    return handles_.erase(handle) != 0 ? Result::success : Result::invalid_value;
}

Result AddressSpace::map(DevicePointer address, std::uint64_t bytes, std::uint64_t offset,
                         AllocationHandle handle) {
    if (bytes == 0 || !is_multiple(bytes) || !is_multiple(address) || offset != 0)
        return Result::invalid_value;
    const std::lock_guard lock(mutex_);
    const auto known = handles_.find(handle);
    if (known == handles_.end() || bytes > known->second->bytes) return Result::invalid_value;
    auto reservation = reservations_.upper_bound(address);
    if (reservation == reservations_.begin()) return Result::invalid_value;
    --reservation;
    const std::uint64_t before = address - reservation->first;
    if (before >= reservation->second || bytes > reservation->second - before) return Result::invalid_value;
    const auto behind = ranges_.lower_bound(address);
    if (behind != ranges_.end() && behind->first < address + bytes) return Result::invalid_value;
    if (behind != ranges_.begin()) {
        const auto& [base, range] = *std::prev(behind);
        if (base + range.bytes > address) return Result::invalid_value;
    }
    if (mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, known->second->file, 0) ==
        MAP_FAILED)
        return Result::out_of_memory;
    ranges_[address] = {.kind = Range::Kind::mapping, .bytes = bytes, .physical = known->second};
    return Result::success;
}

/// The mappings that fill the range; none where one is missing or reaches beyond it. With the lock.
std::vector<AddressSpace::Ranges::iterator> AddressSpace::whole_mappings(DevicePointer address,
                                                                         std::uint64_t bytes) {
    std::vector<Ranges::iterator> found;
    const DevicePointer end = address + bytes;
    while (address < end) {
        const auto range = ranges_.find(address);
        if (range == ranges_.end() || range->second.kind != Range::Kind::mapping) return {};
        found.push_back(range);
        address += range->second.bytes;
    }
    if (address != end) return {};
    return found;
}

void AddressSpace::take_access(DevicePointer address, Range& range) {
    if (range.gpu != nullptr) range.gpu->engine().free(address);
    range.gpu = nullptr;
    range.access = AccessFlags::none;
}

Result AddressSpace::unmap(DevicePointer address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto mappings = whole_mappings(address, bytes);
    if (mappings.empty()) return Result::invalid_value;
    for (const auto mapping : mappings) {
        take_access(mapping->first, mapping->second);
        (void)map_nothing(mapping->first, mapping->second.bytes, MAP_FIXED);
        ranges_.erase(mapping);
    }
    return Result::success;
}

Result AddressSpace::set_access(DevicePointer address, std::uint64_t bytes, Gpu& gpu, AccessFlags access) {
    const std::lock_guard lock(mutex_);
    const auto mappings = whole_mappings(address, bytes);
    if (mappings.empty()) return Result::invalid_value;
    for (const auto mapping : mappings) {
        auto& [base, range] = *mapping;
        take_access(base, range);
        const int protection = access == AccessFlags::none   ? PROT_NONE
                               : access == AccessFlags::read ? PROT_READ
                                                             : PROT_READ | PROT_WRITE;
        if (mprotect(pointer(base), range.bytes, protection) != 0) return Result::out_of_memory;
        if (access == AccessFlags::none) continue;
        if (!gpu.engine().adopt(base, range.bytes, {})) return Result::invalid_value;
        range.gpu = &gpu;
        range.access = access;
    }
    return Result::success;
}

Result AddressSpace::register_host(Gpu& gpu, void* address, std::uint64_t bytes) {
    const auto base = reinterpret_cast<DevicePointer>(address);
    if (base == 0 || bytes == 0) return Result::invalid_value;
    const std::lock_guard lock(mutex_);
    if (!gpu.engine().adopt(base, bytes, {})) return Result::host_memory_already_registered;
    ranges_[base] = {
        .kind = Range::Kind::host, .bytes = bytes, .gpu = &gpu, .access = AccessFlags::read_write};
    return Result::success;
}

Result AddressSpace::unregister_host(Gpu& gpu, void* address) {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(reinterpret_cast<DevicePointer>(address));
    if (found == ranges_.end() || found->second.kind != Range::Kind::host || found->second.gpu != &gpu)
        return Result::host_memory_not_registered;
    take_access(found->first, found->second);
    ranges_.erase(found);
    return Result::success;
}

bool AddressSpace::is_accessible(Gpu& gpu, DevicePointer address, std::uint64_t bytes, bool write) const {
    const std::lock_guard lock(mutex_);
    const AccessFlags needed = write ? AccessFlags::read_write : AccessFlags::read;
    while (bytes > 0) {
        const auto behind = ranges_.upper_bound(address);
        const auto containing = behind == ranges_.begin() ? ranges_.end() : std::prev(behind);
        if (containing == ranges_.end() || address - containing->first >= containing->second.bytes)
            return gpu.engine().device.contains(address, bytes);  // a variable of a module
        const auto& [base, range] = *containing;
        const std::uint64_t before = address - base;
        if (range.gpu != &gpu || range.access < needed) return false;
        const std::uint64_t here = std::min(bytes, range.bytes - before);
        address += here;
        bytes -= here;
    }
    return true;
}

std::optional<AddressSpace::Owner> AddressSpace::owner_of(DevicePointer address) const {
    const std::lock_guard lock(mutex_);
    const auto behind = ranges_.upper_bound(address);
    if (behind == ranges_.begin()) return std::nullopt;
    const auto& [base, range] = *std::prev(behind);
    if (address - base >= range.bytes || range.gpu == nullptr) return std::nullopt;
    return Owner{*range.gpu, range.kind == Range::Kind::mapping};
}

std::optional<execution::AddressRange> AddressSpace::accessible_mapping(const Gpu& gpu,
                                                                        std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [base, range] : ranges_) {
        if (range.kind != Range::Kind::mapping || range.gpu != &gpu) continue;
        if (number-- == 0) return execution::AddressRange{base, range.bytes};
    }
    return std::nullopt;
}

}  // namespace cudasim::stand_in
