// Device memory (E9): one address range per simulated device, separate from all host memory.
//
//   | redzone | allocation | pad to 256 + redzone | allocation | ... | free ... |
//
// Freed memory waits in a bounded quarantine before it is handed out again, so that a use after free is
// still recognised as one. Not thread-safe: Device guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/memory/shared_pages.h"

namespace cudasim::memory {

/// Bytes of V3's poison: a quiet NaN as half, float and double, a large negative integer in every width of 16
/// up.
inline constexpr std::uint16_t poison_pattern = 0xFFFB;
void fill_poison(std::byte* first, std::uint64_t bytes);

struct Allocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::string label;
    bool read_only = false;
    bool counted = true;     ///< as memory of the device; page-locked and managed host memory is not
    bool adopted = false;    ///< somebody else's memory, outside of the arena
    bool shared = false;     ///< with other processes
    bool accessible = true;  ///< false: kernels may not use it yet (set_accessible())
};

class Arena {
  public:
    /// cudaMalloc's alignment (CUDA C++ Programming Guide, "Device Memory Accesses": at least 256 bytes).
    static constexpr std::uint64_t alignment = 256;

    /// Where arenas are reserved: the first at fixed_base, each further one of the process at the next free
    /// multiple of slot_bytes behind it, so that a launch can be repeated at the same addresses in another
    /// process (driver/launch_record.h). Where all slots are taken, or the system has its own use for them
    /// (ThreadSanitizer's shadow), the system chooses.
    static constexpr std::uint64_t fixed_base = std::uint64_t{0x2000'0000'0000};
    static constexpr std::uint64_t slot_bytes = std::uint64_t{1} << 40;
    static constexpr unsigned slots = 32;

    /// @param capacity bytes that may be allocated at the same time; the reservation is a little larger.
    ///     Where the address space is limited (ulimit -v) it takes half of what is left.
    /// @param preferred_base where to reserve it if that place is free; 0: the first free slot
    /// @throws std::bad_alloc when that is less than the smallest arena
    explicit Arena(std::uint64_t capacity, std::uint64_t preferred_base = 0);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// nullopt when `bytes` (> 0) do not fit.
    [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::string label, bool poison,
                                                        bool read_only = false, bool counted = true);
    /// The same at a given address, a multiple of `alignment`. False when that place is
    /// not free, or not in the arena.
    [[nodiscard]] bool allocate_at(std::uint64_t address, std::uint64_t bytes, std::string label, bool poison,
                                   bool read_only = false, bool counted = true);
    /// Lets kernels use memory outside of the arena, host memory or another process's, until it is freed
    /// here. It stays its owner's. A granule (8 bytes) in which the range begins is open from its start.
    /// False when the range overlaps a live allocation or the arena.
    [[nodiscard]] bool adopt(std::uint64_t address, std::uint64_t bytes, std::string label);
    /// Where other processes find the live allocation that starts at `address`; nullopt when none does that
    /// could be shared. @throws std::system_error
    [[nodiscard]] std::optional<SharedPages::Place> share(std::uint64_t address);
    /// False when `address` is not the start of a live allocation.
    [[nodiscard]] bool free(std::uint64_t address);
    /// Forbids kernels a live allocation, or allows it again. False when none starts at `address`.
    [[nodiscard]] bool set_accessible(std::uint64_t address, bool accessible);

    /// The live allocation that contains or precedes `address`; nullptr when there is none.
    [[nodiscard]] const Allocation* at_or_before(std::uint64_t address) const;
    /// The live allocation that contains all of [address, address + bytes).
    [[nodiscard]] const Allocation* containing(std::uint64_t address, std::uint64_t bytes) const;
    /// The first live allocation that starts after `address`.
    [[nodiscard]] const Allocation* after(std::uint64_t address) const;
    /// The most recently freed allocation, still in quarantine, that contained `address`.
    [[nodiscard]] const Allocation* freed_at(std::uint64_t address) const;

    /// visit(const Allocation&) for every live allocation, by ascending address.
    template <typename Visit>
    void for_each_live(Visit visit) const {
        for (const auto& [address, allocation] : live_) visit(allocation);
    }

    /// What is still in quarantine, the oldest first.
    [[nodiscard]] std::vector<Allocation> freed() const { return {quarantine_.begin(), quarantine_.end()}; }

    [[nodiscard]] std::uint64_t base() const { return base_; }
    [[nodiscard]] bool owns(std::uint64_t address) const {
        return address >= base_ && address < base_ + reserved_;
    }
    /// Whether the address lies in an adopted range, or not further than this from one: then it is what an
    /// access beyond its end means.
    [[nodiscard]] bool near_adopted(std::uint64_t address, std::uint64_t distance) const;
    [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
    [[nodiscard]] std::uint64_t in_use() const { return in_use_; }
    /// Whether others than kernels may change some of it at any time: the host, or another process.
    [[nodiscard]] bool has_memory_of_host() const;
    [[nodiscard]] std::size_t live_allocations() const { return live_.size(); }

  private:
    void reserve(std::uint64_t preferred_base);
    [[nodiscard]] std::optional<std::uint64_t> place(std::uint64_t footprint);
    [[nodiscard]] bool take(std::uint64_t address, std::uint64_t footprint);
    void open(std::uint64_t address, std::uint64_t bytes, std::string label, bool poison, bool read_only,
              bool counted);
    [[nodiscard]] bool fits(std::uint64_t bytes, bool counted) const;
    void release(std::uint64_t address, std::uint64_t footprint);
    void flush_quarantine(std::uint64_t keep_bytes);

    std::uint64_t base_ = 0, reserved_ = 0, capacity_ = 0;
    std::uint64_t in_use_ = 0, quarantined_ = 0;
    std::size_t adopted_ = 0;  // how many of live_ are
    std::optional<SharedPages> shared_;
    std::map<std::uint64_t, Allocation> live_;     // by address
    std::map<std::uint64_t, std::uint64_t> free_;  // address → bytes, coalesced
    std::deque<Allocation> quarantine_;            // oldest first
};

}  // namespace cudasim::memory
