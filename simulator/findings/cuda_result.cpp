// The table of results.
#include "simulator/findings/cuda_result.h"

#include <algorithm>
#include <array>

#include "simulator/findings/finding.h"

namespace cudasim::findings {

namespace {

using enum Lasting;

constexpr std::array table{
#define RESULT(identifier, name, number, lasting, text) \
    CudaResultInfo{CudaResult::identifier, #name, lasting, text},
#include "simulator/findings/cuda_results.def"
#undef RESULT
};

constexpr const CudaResultInfo* find(int number) {
    const auto* row = std::ranges::lower_bound(
        table, number, {}, [](const CudaResultInfo& each) { return static_cast<int>(each.result); });
    return row != table.end() && static_cast<int>(row->result) == number ? row : nullptr;
}

static_assert(std::ranges::is_sorted(table, {}, &CudaResultInfo::result));

// Findings have their codes from the same table.
#define FINDING(identifier, name, severity, exception, code) static_assert(find(code) != nullptr);
#include "simulator/findings/finding_kinds.def"
#undef FINDING

}  // namespace

std::span<const CudaResultInfo> cuda_results() {
    return table;
}

const CudaResultInfo& info(CudaResult result) {
    const CudaResultInfo* row = find(static_cast<int>(result));
    return row != nullptr ? *row : table.back();  // a number that was cast: unknown
}

std::optional<CudaResult> cuda_result(int number) {
    const CudaResultInfo* row = find(number);
    if (row == nullptr) return std::nullopt;
    return row->result;
}

}  // namespace cudasim::findings
