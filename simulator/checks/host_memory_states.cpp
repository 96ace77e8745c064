// See host_memory_states.h.
#include "simulator/checks/host_memory_states.h"

#include <algorithm>

namespace cudasim::checks {

void HostMemoryStates::begins(const execution::ObservedMemory& memory) {
    if (memory.bytes == 0) return;
    const std::uint64_t end = memory.address + memory.bytes;
    if (const auto known = find(memory.address); known != arrays_.end()) arrays_.erase(known);
    arrays_.erase(arrays_.lower_bound(memory.address), arrays_.lower_bound(end));
    arrays_[memory.address] = {memory.space, std::vector<std::byte>(memory.bytes)};
}

void HostMemoryStates::ends(const execution::ObservedMemory& memory) {
    arrays_.erase(memory.address);
}

HostMemoryStates::Arrays::iterator HostMemoryStates::find(std::uint64_t address) {
    auto behind = arrays_.upper_bound(address);
    if (behind == arrays_.begin()) return arrays_.end();
    --behind;
    return address - behind->first < behind->second.states.size() ? behind : arrays_.end();
}

std::byte* HostMemoryStates::states(std::uint64_t address, std::uint64_t bytes) {
    const auto known = find(address);
    if (known == arrays_.end()) return nullptr;
    const std::uint64_t offset = address - known->first;
    return bytes <= known->second.states.size() - offset ? known->second.states.data() + offset : nullptr;
}

bool HostMemoryStates::is_local(std::uint64_t address) {
    const auto known = find(address);
    return known != arrays_.end() && known->second.space == execution::MemorySpace::local;
}

void HostMemoryStates::set_written(std::uint64_t address, std::uint64_t bytes) {
    if (std::byte* first = states(address, bytes)) std::fill_n(first, bytes, std::byte{0xFF});
}

}  // namespace cudasim::checks
