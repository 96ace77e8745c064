// Which threads of a block, or which blocks of a grid, a breakpoint is for: "3", "0..31", "(40,2,0)", "*",
// and lists of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/findings/finding.h"

namespace cudasim::debugger {

/// Ranges of linear indices, inclusive, of one launch; ascending.
using LinearRanges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

[[nodiscard]] inline bool contains(const LinearRanges& ranges, std::uint64_t index) {
    for (const auto& [first, last] : ranges)
        if (index >= first && index <= last) return true;
    return false;
}
/// "0..31, 40"
[[nodiscard]] std::string text_of(const LinearRanges& ranges);

class IndexSet {
  public:
    /// Everything.
    IndexSet() = default;
    /// A plain number is a linear index, a tuple has CUDA's coordinates; what a tuple leaves out is 0.
    /// @return nothing for text that is no such set; `error` says why
    [[nodiscard]] static std::optional<IndexSet> parse(std::string_view text, std::string& error);

    /// In a grid or block of this size. Coordinates that are not in it name nothing.
    [[nodiscard]] LinearRanges in(const findings::Dim3& extents) const;
    bool operator==(const IndexSet&) const = default;

  private:
    LinearRanges ranges_;
    std::vector<findings::Dim3> points_;
    bool all_ = true;
};

}  // namespace cudasim::debugger
