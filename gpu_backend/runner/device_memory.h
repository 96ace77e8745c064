// A GPU's memory at the addresses that a launch was recorded with.
//
// Memory can be had in whole pages of the driver (2 MiB: docs/gpu_results.md, "Addresses"), so allocations of
// a launch lie in the pages around them. What is between them is filled with a pattern, and compared
// afterwards: a write outside of every allocation shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "gpu_backend/libcuda/driver.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::runner {

/// Pages stay mapped from launch to launch, because mapping takes longer than filling.
class DeviceMemory {
  public:
    /// Bytes of the pattern between allocations.
    static constexpr std::uint8_t pattern = 0xC5;
    /// Pages that no launch has used for so long are given back when there are more than these. Bytes.
    static constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 30;

    /// Around the addresses of a launch as many bytes are reserved, at a multiple of them: first what a
    /// simulated device's memory may take (simulator/memory/arena.h), else the least that the driver gives
    /// where it is wanted. It keeps smaller ranges elsewhere (docs/gpu_results.md, "Addresses").
    static constexpr std::uint64_t reserved_units[] = {std::uint64_t{1} << 40, std::uint64_t{32} << 20};

    DeviceMemory(const libcuda::Driver& driver, libcuda::DeviceOrdinal device);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Makes the ranges accessible, at their addresses where the driver gives them.
    /// @throws DriverFailure
    void place(std::span<const records::GpuMemory> ranges);
    /// The first range of addresses that is not where it was asked for.
    struct Moved {
        std::uint64_t wanted = 0, at = 0;
    };
    [[nodiscard]] std::optional<Moved> moved() const;
    /// Whether every range is where it was asked for.
    [[nodiscard]] bool at_same_addresses() const { return !moved(); }
    /// Where an address of the launch is now: itself, unless it lies in a range that moved.
    [[nodiscard]] std::uint64_t relocated(std::uint64_t address) const;

    /// Copies all contents to the GPU, and fills what is between them.
    void fill(std::span<const records::GpuMemory> ranges,
              const std::function<std::span<const std::byte>(std::size_t)>& content);
    /// Copies a range back.
    void read(const records::GpuMemory& range, std::span<std::byte> content) const;
    /// What was written between the ranges. @param most how many runs are listed @param bytes gets the sum
    [[nodiscard]] std::vector<records::StrayWrite> stray_writes(std::span<const records::GpuMemory> ranges,
                                                                std::size_t most, std::uint64_t& bytes) const;

  private:
    struct Pages {
        std::uint64_t bytes = 0;
        std::uint64_t at = 0;          ///< where they are; the key is where they were wanted
        bool has_reservation = false;  ///< of addresses, for them alone
        libcuda::AllocationHandle handle = 0;
        bool in_use = false;  ///< by the launch that was placed last
    };
    using PagesByWantedAddress = std::map<std::uint64_t, Pages>;

    void map(std::uint64_t wanted, std::uint64_t bytes);
    [[nodiscard]] bool reserve_around(std::uint64_t wanted, std::uint64_t bytes);
    bool give_back_unused();
    PagesByWantedAddress::iterator give_back(PagesByWantedAddress::iterator pages);
    /// visit(first address as recorded, bytes) for every gap in the pages in use
    template <typename Visit>
    void for_each_gap(std::span<const records::GpuMemory> ranges, Visit visit) const;

    const libcuda::Driver& driver_;
    libcuda::DeviceOrdinal device_;
    std::uint64_t page_ = 0;
    PagesByWantedAddress pages_;
    std::map<std::uint64_t, std::uint64_t> reserved_;  // address → bytes; kept, since it costs no memory
};

}  // namespace cudasim::runner
