// See device_heap.h.
#include "simulator/execution/device_heap.h"

#include <algorithm>
#include <utility>

namespace cudasim::execution {

std::optional<std::uint64_t> DeviceHeap::allocate(memory::Arena& arena, std::uint64_t bytes,
                                                  std::string label) {
    bytes = std::max<std::uint64_t>(bytes, 1);
    if (bytes > limit_ || in_use_ > limit_ - bytes) return std::nullopt;
    const auto address = arena.allocate(bytes, std::move(label), true);
    if (!address) return std::nullopt;
    const std::uint64_t taken = (bytes + unit - 1) / unit * unit;
    live_.emplace(*address, taken);
    in_use_ += taken;
    return address;
}

bool DeviceHeap::free(memory::Arena& arena, std::uint64_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) {
        const memory::Allocation* restored = arena.containing(address, 1);
        return restored != nullptr && restored->address == address &&
               restored->label.starts_with(label_begin) && arena.free(address);
    }
    if (!arena.free(address)) return false;
    in_use_ -= found->second;
    live_.erase(found);
    return true;
}

}  // namespace cudasim::execution
