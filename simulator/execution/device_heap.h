// The heap from which kernels allocate with malloc() and free() (CUDA C++ Programming Guide, "Dynamic Global
// Memory Allocation and Operations"). Its allocations are allocations of the arena like others, so that
// accesses to them are checked; they last until a kernel frees them or the device is reset, whatever launch
// made them, and calls of the host may not use them. Not thread-safe: the lock of the device's memory guards
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "simulator/memory/arena.h"

namespace cudasim::execution {

class DeviceHeap {
  public:
    /// cudaLimitMallocHeapSize of a new context (CUDA C++ Programming Guide, "Heap Memory Allocation": 8 MB).
    static constexpr std::uint64_t default_limit = 8 << 20;
    /// "The returned pointer is guaranteed to be aligned to a 16-byte boundary": sizes count in such units.
    static constexpr std::uint64_t unit = 16;
    /// How the labels of its allocations begin: "malloc() at list.cu:12".
    static constexpr std::string_view label_begin = "malloc()";

    /// nullopt when the heap, or the device, has no room. @param bytes 0 counts as 1
    [[nodiscard]] std::optional<std::uint64_t> allocate(memory::Arena& arena, std::uint64_t bytes,
                                                        std::string label);
    /// False when no live allocation of the heap begins there. Where a recorded launch runs again, what
    /// launches before it have allocated is known by its label.
    [[nodiscard]] bool free(memory::Arena& arena, std::uint64_t address);
    /// Whether a live allocation of the heap begins there.
    [[nodiscard]] bool has(std::uint64_t address) const { return live_.contains(address); }

    [[nodiscard]] std::uint64_t limit() const { return limit_; }
    void set_limit(std::uint64_t bytes) { limit_ = bytes; }

  private:
    std::uint64_t limit_ = default_limit, in_use_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> live_;  // address → bytes, in units
};

}  // namespace cudasim::execution
