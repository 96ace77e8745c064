// The addresses in which threads can meet: shared memory of blocks, and the device's arena.
#pragma once

#include <cstdint>

#include "simulator/execution/shared_memory.h"
#include "simulator/memory/arena.h"

namespace cudasim::checks {

struct ShadowWindow {
    std::uint64_t low, bytes;
};

/// Shared memory and the device's arena, where both are at their places; else the arena alone.
/// @param memory_base where the arena begins
inline ShadowWindow shadow_window(std::uint64_t memory_base) {
    using memory::Arena;
    const bool at_its_place = memory_base - Arena::fixed_base < Arena::slots * Arena::slot_bytes;
    const std::uint64_t low = at_its_place ? execution::SharedMemory::region_low : memory_base;
    return {low, memory_base + Arena::slot_bytes - low};
}

}  // namespace cudasim::checks
