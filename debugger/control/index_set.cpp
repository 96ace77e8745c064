// See index_set.h.
#include "debugger/control/index_set.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace cudasim::debugger {
namespace {

class Reader {
  public:
    explicit Reader(std::string_view text) : rest_(text) {}

    [[nodiscard]] bool at_end() {
        skip_blanks();
        return rest_.empty();
    }
    bool take(std::string_view wanted) {
        skip_blanks();
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(wanted.size());
        return true;
    }
    template <typename Number>
    bool number(Number& target) {
        skip_blanks();
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), target);
        if (error != std::errc()) return false;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return true;
    }
    bool point(findings::Dim3& target) {
        std::array<std::uint32_t*, 3> axes{&target.x, &target.y, &target.z};
        target = {0, 0, 0};
        for (std::size_t axis = 0;; ++axis) {
            if (axis == axes.size() || !number(*axes[axis])) return false;
            if (take(")")) return true;
            if (!take(",")) return false;
            if (take(")")) return true;
        }
    }

  private:
    void skip_blanks() {
        while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    }
    std::string_view rest_;
};

}  // namespace

std::optional<IndexSet> IndexSet::parse(std::string_view text, std::string& error) {
    IndexSet set;
    set.all_ = false;
    Reader reader(text);
    const auto fail = [&] {
        error = "'" + std::string(text) +
                "' is no range of threads or blocks: write 3, 0..31, (40,2,0), * or a list of these";
        return std::nullopt;
    };
    const bool bracket = reader.take("[");
    do {
        if (reader.take("*")) {
            set.all_ = true;
        } else if (reader.take("(")) {
            if (!reader.point(set.points_.emplace_back())) return fail();
        } else {
            auto& [first, last] = set.ranges_.emplace_back();
            if (!reader.number(first)) return fail();
            last = first;
            if (reader.take("..") && (!reader.number(last) || last < first)) return fail();
        }
    } while (reader.take(","));
    if ((bracket && !reader.take("]")) || !reader.at_end()) return fail();
    return set;
}

LinearRanges IndexSet::in(const findings::Dim3& extents) const {
    if (all_) return {{0, ~std::uint64_t{0}}};
    LinearRanges ranges = ranges_;
    for (const findings::Dim3& point : points_) {
        if (point.x >= extents.x || point.y >= extents.y || point.z >= extents.z) continue;
        const std::uint64_t index =
            point.x + std::uint64_t{extents.x} * (point.y + std::uint64_t{extents.y} * point.z);
        ranges.emplace_back(index, index);
    }
    std::ranges::sort(ranges);
    return ranges;
}

std::string text_of(const LinearRanges& ranges) {
    std::string text;
    for (const auto& [first, last] : ranges) {
        if (!text.empty()) text += ", ";
        text += std::to_string(first);
        if (last != first) text += ".." + std::to_string(last);
    }
    return text;
}

}  // namespace cudasim::debugger
