// The memory of the stand-in's devices: allocations, and reservations in which physical memory is mapped
// (pages "Memory Management" and "Virtual Memory Management"). All of it is host memory at the device's
// addresses, in units of 2 MiB, which a device's engine adopts as soon as kernels may access it.
//
//   reserve ──► mmap, no access        map ──► the physical memory's file, no access
//   create  ──► a file in memory       set_access ──► host pages readable and writable, adopted by the engine
//
// Kernels access a whole mapping, also where no allocation of the user's lies: a GPU notices no error there.
// The caller has waited for all work of the device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tests/gpu_backend/libcuda/stand_in/gpu.h"

namespace cudasim::stand_in {

class AddressSpace {
  public:
    static constexpr std::uint64_t granularity = std::uint64_t{2} << 20;
    /// Of addresses that are asked for: hints are rounded up to it, and those of smaller ranges ignored.
    static constexpr std::uint64_t hint_unit = std::uint64_t{32} << 20;
    /// Hints that an H200 honours (docs/gpu_results.md, "Addresses").
    static constexpr DevicePointer lowest_hint = 0x1000'0000'0000, highest_end = 0x7e00'0000'0000;
    /// From here on there are no addresses.
    static constexpr DevicePointer no_addresses = 0x8000'0000'0000;

    [[nodiscard]] static AddressSpace& of_this_process();

    [[nodiscard]] Result allocate(Gpu& gpu, std::uint64_t bytes, DevicePointer& address);
    [[nodiscard]] Result free(Gpu& gpu, DevicePointer address);
    void free_all(Gpu& gpu);

    [[nodiscard]] Result reserve(std::uint64_t bytes, std::uint64_t alignment, DevicePointer hint,
                                 DevicePointer& address);
    [[nodiscard]] Result unreserve(DevicePointer address, std::uint64_t bytes);
    [[nodiscard]] Result create(Gpu& gpu, std::uint64_t bytes, AllocationHandle& handle);
    [[nodiscard]] Result release(AllocationHandle handle);
    [[nodiscard]] Result map(DevicePointer address, std::uint64_t bytes, std::uint64_t offset,
                             AllocationHandle handle);
    [[nodiscard]] Result unmap(DevicePointer address, std::uint64_t bytes);
    [[nodiscard]] Result set_access(DevicePointer address, std::uint64_t bytes, Gpu& gpu, AccessFlags access);

    [[nodiscard]] Result register_host(Gpu& gpu, void* address, std::uint64_t bytes);
    [[nodiscard]] Result unregister_host(Gpu& gpu, void* address);

    struct Owner {
        Gpu& gpu;
        bool is_mapped;  ///< by cuMemMap
    };
    /// Whose memory is at an address; nullopt where there is none that a device can access.
    [[nodiscard]] std::optional<Owner> owner_of(DevicePointer address) const;

    /// Whether the device can read, or write, all of these bytes.
    [[nodiscard]] bool is_accessible(Gpu& gpu, DevicePointer address, std::uint64_t bytes, bool write) const;
    /// The number-th mapped range that the device can access, by ascending address. {base, bytes}
    [[nodiscard]] std::optional<execution::AddressRange> accessible_mapping(const Gpu& gpu,
                                                                            std::uint64_t number) const;

  private:
    struct Physical {
        Physical(Gpu& owner, int descriptor, std::uint64_t size);
        ~Physical();
        Physical(const Physical&) = delete;
        Physical& operator=(const Physical&) = delete;
        Gpu& gpu;
        int file;
        std::uint64_t bytes;
    };
    struct Range {
        enum class Kind { allocation, mapping, host };
        Kind kind = Kind::allocation;
        std::uint64_t bytes = 0;
        std::shared_ptr<Physical> physical;  ///< of a mapping
        Gpu* gpu = nullptr;                  ///< that can access it; null: none
        AccessFlags access = AccessFlags::none;
    };
    using Ranges = std::map<DevicePointer, Range>;

    [[nodiscard]] std::vector<Ranges::iterator> whole_mappings(DevicePointer address, std::uint64_t bytes);
    static void take_access(DevicePointer address, Range& range);

    mutable std::mutex mutex_;
    std::map<DevicePointer, std::uint64_t> reservations_;  ///< bytes by base
    std::map<AllocationHandle, std::shared_ptr<Physical>> handles_;
    AllocationHandle next_handle_ = 1;
    Ranges ranges_;
};

}  // namespace cudasim::stand_in
