// Shared memory of resident blocks: slots of address space, each as large as a multiprocessor's, with
// redzones around it.
//
// Slots lie close together, in front of the first arena, so that device and shared memory can be looked up in
// one table.
//
//   slot:  | redzone 4 KiB | static variables, 16-byte gaps | dynamic | redzone |
//                          ^ shared_base
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/execution/launch.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

class SharedMemory {
  public:
    static constexpr std::uint64_t redzone = 4096;
    /// Where slots are, as long as the system has nothing else there.
    static constexpr std::uint64_t region_bytes = std::uint64_t{64} << 30;
    static constexpr std::uint64_t region_low = memory::Arena::fixed_base - region_bytes;
    static constexpr std::uint64_t slot_bytes = 1 << 20;  ///< address space; the largest device has 228 KiB

    /// A new slot; returns its shared_base. @throws std::bad_alloc
    [[nodiscard]] static std::byte* map();
    static void unmap(std::byte* shared_base);
    /// Makes exactly the launch's shared variables and dynamic bytes addressable.
    static void mark(std::byte* shared_base, const Launch& launch);
    /// Of the block of the cluster in whose slot the address lies; -1: in none.
    [[nodiscard]] static std::int32_t rank_of(const jit::BlockContext& block, std::uint64_t address);
    /// No access is legal any more.
    static void close(std::byte* shared_base, const Launch& launch);
};

}  // namespace cudasim::execution
