// A set of addresses, as ranges that neither overlap nor touch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace cudasim::checks {

class AddressRanges {
  public:
    /// [first, end)
    void add(std::uint64_t first, std::uint64_t end) {
        if (first >= end) return;
        auto at = ends_.upper_bound(first);
        if (at != ends_.begin() && std::prev(at)->second >= first) first = (--at)->first;
        while (at != ends_.end() && at->first <= end) {
            end = std::max(end, at->second);
            at = ends_.erase(at);
        }
        ends_.emplace_hint(at, first, end);
    }

    void remove(std::uint64_t first, std::uint64_t end) {
        if (first >= end) return;
        auto at = ends_.upper_bound(first);
        if (at != ends_.begin() && std::prev(at)->second > first) --at;
        while (at != ends_.end() && at->first < end) {
            const auto [low, high] = *at;
            at = ends_.erase(at);
            if (low < first) ends_.emplace_hint(at, low, first);
            if (high > end) at = ends_.emplace_hint(at, end, high);
        }
    }

    /// Calls with the parts that lie in [first, end), ascending: part(first, end).
    template <typename Part>
    void for_each_in(std::uint64_t first, std::uint64_t end, Part part) const {
        if (first >= end) return;
        auto at = ends_.upper_bound(first);
        if (at != ends_.begin() && std::prev(at)->second > first) --at;
        for (; at != ends_.end() && at->first < end; ++at)
            part(std::max(at->first, first), std::min(at->second, end));
    }

    [[nodiscard]] std::size_t size() const { return ends_.size(); }
    [[nodiscard]] bool empty() const { return ends_.empty(); }
    void clear() { ends_.clear(); }

  private:
    std::map<std::uint64_t, std::uint64_t> ends_;  ///< first address -> the one behind the last
};

}  // namespace cudasim::checks
