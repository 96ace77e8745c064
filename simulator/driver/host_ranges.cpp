// The ranges, by address.
#include "simulator/driver/host_ranges.h"

#include <algorithm>

namespace cudasim::driver {

HostRanges& HostRanges::of_this_process() {
    static auto* const instance =
        new HostRanges;  // never destroyed: memory is given back at the very end, too
    return *instance;
}

bool HostRanges::overlap_locked(std::uint64_t address, std::uint64_t bytes) const {
    const auto after = ranges_.upper_bound(address);
    if (after != ranges_.end() && after->first - address < bytes) return true;
    if (after == ranges_.begin()) return false;
    const HostRange& before = std::prev(after)->second;
    return address - before.address < before.bytes;
}

bool HostRanges::add(const HostRange& range) {
    const std::lock_guard lock(mutex_);
    if (overlap_locked(range.address, range.bytes)) return false;
    ranges_[range.address] = range;
    count_ = ranges_.size();
    return true;
}

std::optional<HostRange> HostRanges::take(std::uint64_t address,
                                          const std::function<bool(const HostRange&)>& accepted) {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(address);
    if (found == ranges_.end() || !accepted(found->second)) return std::nullopt;
    HostRange range = std::move(found->second);
    ranges_.erase(found);
    count_ = ranges_.size();
    return range;
}

std::optional<HostRange> HostRanges::starting_at(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(address);
    if (found == ranges_.end()) return std::nullopt;
    return found->second;
}

std::optional<HostRange> HostRanges::find(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return std::nullopt;
    const HostRange& range = std::prev(after)->second;
    if (address - range.address >= range.bytes) return std::nullopt;
    return range;
}

bool HostRanges::any_registered() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(ranges_, [](const auto& each) { return each.second.registered; });
}

bool HostRanges::overlap(std::uint64_t address, std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    return overlap_locked(address, bytes);
}

}  // namespace cudasim::driver
