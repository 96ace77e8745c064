// compare_printed(), and what a launch's comparison comes to.

#include <algorithm>
#include <unordered_map>

#include "gpu_backend/comparison/comparison.h"

namespace cudasim::comparison {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

/// Lines that are more often in `lines` than in `others`; the first of them are kept.
std::uint64_t only_in(const std::vector<std::string_view>& lines, const std::vector<std::string_view>& others,
                      std::size_t most, std::vector<std::string>& kept) {
    std::unordered_map<std::string_view, std::uint64_t> left;
    for (const std::string_view line : others) ++left[line];
    std::uint64_t count = 0;
    for (const std::string_view line : lines) {
        const auto found = left.find(line);
        if (found != left.end() && found->second != 0) {
            --found->second;
            continue;
        }
        ++count;
        if (kept.size() < most) kept.emplace_back(line);
    }
    return count;
}

}  // namespace

PrintedComparison compare_printed(std::string_view simulated, std::string_view gpu, const Limits& limits) {
    const std::vector<std::string_view> here = lines_of(simulated), there = lines_of(gpu);
    PrintedComparison result{.lines_simulated = here.size(), .lines_gpu = there.size()};
    if (here == there) return result;
    result.only_simulated_count = only_in(here, there, limits.runs, result.only_simulated);
    result.only_gpu_count = only_in(there, here, limits.runs, result.only_gpu);
    result.other_order = result.verdict() == Verdict::same;
    return result;
}

Verdict Comparison::verdict() const {
    Verdict worst = Verdict::same;
    for (const ArrayComparison& array : arrays) worst = std::max(worst, array.verdict());
    for (const BytesComparison& bytes : outside) worst = std::max(worst, bytes.verdict());
    if (printed) worst = std::max(worst, printed->verdict());
    return worst;
}

}  // namespace cudasim::comparison
