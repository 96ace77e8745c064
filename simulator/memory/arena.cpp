// Placement, quarantine and look-up of device allocations.
#include "simulator/memory/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "simulator/memory/host_guard.h"
#include "simulator/memory/host_memory.h"
#include "simulator/memory/shadow.h"

namespace cudasim::memory {

namespace {

/// Freed bytes kept back so that a use after free is recognised; a larger allocation is released at once,
/// because keeping hundreds of megabytes from reuse costs page faults in every launch.
constexpr std::uint64_t quarantine_limit = 32 << 20;
/// Most allocations in quarantine. The limit keeps a program that launches with small host arrays for hours
/// at its size.
constexpr std::size_t quarantine_entries = 256;
/// Allocations from this size on ask the host for memory first.
constexpr std::uint64_t large_allocation = 64 << 20;
constexpr std::uint64_t smallest_arena = 64 << 20;
/// A freed allocation larger than this gives its pages back to the system.
constexpr std::uint64_t release_pages_above = 256 << 20;

constexpr std::uint64_t page = 4096;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// Bytes of the arena that an allocation takes, its redzone included. Memory that the host uses gets pages of
/// its own, so that they can be protected (simulator/streams/page_watch.h).
std::uint64_t footprint_of(std::uint64_t bytes, bool counted) {
    return rounded_up(rounded_up(bytes, Arena::alignment) + Arena::alignment,
                      counted ? Arena::alignment : page);
}

/// Adopted memory may begin inside a granule of the shadow.
void set_access(std::uint64_t address, std::uint64_t bytes, Access access) {
    const std::uint64_t granule = address & ~std::uint64_t{7};
    Shadow::instance().set(granule, address - granule + bytes, access);
}

Access access_of(const Allocation& allocation) {
    if (!allocation.accessible) return Access::none;
    return allocation.read_only ? Access::read_only : Access::read_write;
}

/// Whole pages inside [address, address + bytes).
void give_pages_back(std::uint64_t address, std::uint64_t bytes) {
    constexpr std::uint64_t page = 4096;
    const std::uint64_t first = (address + page - 1) & ~(page - 1), last = (address + bytes) & ~(page - 1);
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

void fill_poison(std::byte* first, std::uint64_t bytes) {
    auto* words = reinterpret_cast<std::uint16_t*>(first);
    std::fill_n(words, bytes / 2, poison_pattern);
    if (bytes % 2 != 0) first[bytes - 1] = static_cast<std::byte>(poison_pattern & 0xFF);
}

Arena::Arena(std::uint64_t capacity, std::uint64_t preferred_base) : capacity_(capacity) {
    // Twice the capacity, so that redzones, quarantine and fragmentation never run out of address space
    // first.
    reserved_ = 2 * capacity + smallest_arena;
    if (const auto limit = address_limit()) reserved_ = std::min(reserved_, limit->left / 2 / page * page);
    for (; reserved_ >= smallest_arena; reserved_ = reserved_ / 2 / page * page) {
        reserve(preferred_base);
        if (base_ == 0) continue;
        madvise(reinterpret_cast<void*>(base_), reserved_, MADV_DONTDUMP);
        capacity_ = std::min(capacity_, reserved_);
        free_[base_ + alignment] = reserved_ - alignment;
        shared_.emplace(base_, reserved_);
        host_guard::arena_made(base_, reserved_);
        return;
    }
    throw std::bad_alloc();
}

Arena::~Arena() {
    for (const auto& [address, allocation] : live_) set_access(address, allocation.bytes, Access::none);
    host_guard::arena_gone(base_);
    munmap(reinterpret_cast<void*>(base_), reserved_);
}

/// Sets base_, which stays 0 when the system has no room for reserved_ bytes.
void Arena::reserve(std::uint64_t preferred_base) {
    const auto at = [&](std::uint64_t address) {
        // A hint: Linux takes a place that is free, and another one else. With MAP_FIXED_NOREPLACE
        // ThreadSanitizer, which drops hints that are no place for it, would map at 0.
        void* mapped = mmap(reinterpret_cast<void*>(address), reserved_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) return false;
        base_ = reinterpret_cast<std::uint64_t>(mapped);
        if (address == 0 || base_ == address) return true;
        munmap(mapped, reserved_);
        base_ = 0;
        return false;
    };
    if (preferred_base != 0 && at(preferred_base)) return;
    if (reserved_ <= slot_bytes)
        for (unsigned slot = 0; slot < slots; ++slot)
            if (at(fixed_base + slot * slot_bytes)) return;
    (void)at(0);
}

std::optional<std::uint64_t> Arena::place(std::uint64_t footprint) {
    const std::uint64_t unit = footprint % page == 0 ? page : alignment;  // what fills pages begins with one
    for (const auto& [address, bytes] : free_) {
        const std::uint64_t start = rounded_up(address, unit), gap = start - address;
        if (bytes < gap || bytes - gap < footprint) continue;
        (void)take(start, footprint);
        return start;
    }
    return std::nullopt;
}

/// Takes the place out of free_ if all of it is there.
bool Arena::take(std::uint64_t address, std::uint64_t footprint) {
    auto it = free_.upper_bound(address);
    if (it == free_.begin()) return false;
    --it;
    const auto [start, bytes] = *it;
    const std::uint64_t gap = address - start;
    if (bytes < gap || bytes - gap < footprint) return false;
    free_.erase(it);
    if (gap > 0) free_[start] = gap;
    if (bytes - gap > footprint) free_[address + footprint] = bytes - gap - footprint;
    return true;
}

/// Whether capacity and host have room for so much more.
bool Arena::has_memory_of_host() const {
    return std::ranges::any_of(live_, [](const auto& each) {
        return !each.second.counted || each.second.adopted || each.second.shared;
    });
}

bool Arena::fits(std::uint64_t bytes, bool counted) const {
    if (bytes > capacity_ - (counted ? std::min(in_use_, capacity_) : 0)) return false;
    // Simulated memory is real memory: refusing is kinder than driving the host out of memory.
    const std::uint64_t with_shadow = bytes + bytes / 8;
    return bytes < large_allocation || with_shadow + host_reserve <= host_memory_available();
}

/// Makes a place that was taken a live allocation.
void Arena::open(std::uint64_t address, std::uint64_t bytes, std::string label, bool poison, bool read_only,
                 bool counted) {
    const host_guard::EngineAccess access;
    if (counted) in_use_ += bytes;
    if (!counted) host_guard::shared_with_host(address, footprint_of(bytes, counted));
    if (poison) fill_poison(reinterpret_cast<std::byte*>(address), bytes);
    Allocation allocation{address, bytes, std::move(label), read_only, counted};
    set_access(address, bytes, access_of(allocation));
    live_.emplace(address, std::move(allocation));
}

bool Arena::allocate_at(std::uint64_t address, std::uint64_t bytes, std::string label, bool poison,
                        bool read_only, bool counted) {
    if (bytes == 0 || address % alignment != 0 || !owns(address) || !fits(bytes, counted)) return false;
    if (!take(address, footprint_of(bytes, counted))) return false;
    open(address, bytes, std::move(label), poison, read_only, counted);
    return true;
}

std::optional<std::uint64_t> Arena::allocate(std::uint64_t bytes, std::string label, bool poison,
                                             bool read_only, bool counted) {
    if (!fits(bytes, counted)) return std::nullopt;
    const std::uint64_t footprint = footprint_of(bytes, counted);
    auto address = place(footprint);
    if (!address) {
        flush_quarantine(0);
        address = place(footprint);
    }
    if (!address) return std::nullopt;
    open(*address, bytes, std::move(label), poison, read_only, counted);
    return address;
}

bool Arena::adopt(std::uint64_t address, std::uint64_t bytes, std::string label) {
    const std::uint64_t end = address + bytes;
    if (bytes == 0 || end < address || (address < base_ + reserved_ && end > base_)) return false;
    const Allocation *before = at_or_before(address), *behind = after(address);
    if ((before && before->address + before->bytes > address) || (behind && behind->address < end))
        return false;
    set_access(address, bytes, Access::read_write);
    live_.emplace(address, Allocation{.address = address,
                                      .bytes = bytes,
                                      .label = std::move(label),
                                      .counted = false,
                                      .adopted = true});
    ++adopted_;
    return true;
}

std::optional<SharedPages::Place> Arena::share(std::uint64_t address) {
    auto it = live_.find(address);
    if (it == live_.end() || it->second.adopted) return std::nullopt;
    const host_guard::EngineAccess access;
    it->second.shared = true;
    return shared_->share(address, it->second.bytes);
}

bool Arena::free(std::uint64_t address) {
    auto it = live_.find(address);
    if (it == live_.end()) return false;
    Allocation allocation = std::move(it->second);
    live_.erase(it);
    if (allocation.counted) in_use_ -= allocation.bytes;
    set_access(address, allocation.bytes, Access::none);
    if (allocation.adopted) {
        --adopted_;
        return true;
    }
    const host_guard::EngineAccess access;
    if (!allocation.counted) host_guard::no_longer_shared(address);
    if (allocation.shared) shared_->unshare(address, allocation.bytes);
    const std::uint64_t footprint = footprint_of(allocation.bytes, allocation.counted);
    if (footprint > quarantine_limit) {
        if (footprint > release_pages_above) give_pages_back(address, footprint);
        release(address, footprint);
    } else {
        quarantined_ += footprint;
        quarantine_.push_back(std::move(allocation));
        flush_quarantine(quarantine_limit);
    }
    return true;
}

bool Arena::set_accessible(std::uint64_t address, bool accessible) {
    const auto it = live_.find(address);
    if (it == live_.end()) return false;
    Allocation& allocation = it->second;
    allocation.accessible = accessible;
    set_access(address, allocation.bytes, access_of(allocation));
    return true;
}

void Arena::release(std::uint64_t address, std::uint64_t footprint) {
    auto next = free_.upper_bound(address);
    if (next != free_.end() && next->first == address + footprint) {
        footprint += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        auto previous = std::prev(next);
        if (previous->first + previous->second == address) {
            previous->second += footprint;
            address = 0;
        }
    }
    if (address != 0) free_[address] = footprint;
}

void Arena::flush_quarantine(std::uint64_t keep_bytes) {
    while (!quarantine_.empty() && (quarantined_ > keep_bytes || quarantine_.size() > quarantine_entries)) {
        const Allocation& oldest = quarantine_.front();
        const std::uint64_t footprint = footprint_of(oldest.bytes, oldest.counted);
        quarantined_ -= footprint;
        release(oldest.address, footprint);
        quarantine_.pop_front();
    }
}

const Allocation* Arena::at_or_before(std::uint64_t address) const {
    auto it = live_.upper_bound(address);
    return it == live_.begin() ? nullptr : &std::prev(it)->second;
}

const Allocation* Arena::containing(std::uint64_t address, std::uint64_t bytes) const {
    const Allocation* allocation = at_or_before(address);
    if (!allocation || bytes > allocation->bytes || address - allocation->address > allocation->bytes - bytes)
        return nullptr;
    return allocation;
}

const Allocation* Arena::after(std::uint64_t address) const {
    auto it = live_.upper_bound(address);
    return it == live_.end() ? nullptr : &it->second;
}

bool Arena::near_adopted(std::uint64_t address, std::uint64_t distance) const {
    if (adopted_ == 0) return false;
    const Allocation *before = at_or_before(address), *behind = after(address);
    return (before && before->adopted && address - before->address < before->bytes + distance) ||
           (behind && behind->adopted && behind->address - address <= distance);
}

const Allocation* Arena::freed_at(std::uint64_t address) const {
    for (auto it = quarantine_.rbegin(); it != quarantine_.rend(); ++it)
        if (address >= it->address && address - it->address < it->bytes) return &*it;
    return nullptr;
}

}  // namespace cudasim::memory
