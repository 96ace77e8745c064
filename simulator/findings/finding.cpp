// The table of kinds, and how coordinates and ranges are written everywhere (C2).
#include "simulator/findings/finding.h"

#include <algorithm>
#include <array>

#include "simulator/findings/writers.h"

namespace cudasim::findings {
namespace {

constexpr std::array kinds{
#define FINDING(identifier, name, severity, exception, code) \
    KindInfo{name, Severity::severity, exception, code},
#include "simulator/findings/finding_kinds.def"
#undef FINDING
};

std::string triple(const Dim3& value) {
    return "[" + std::to_string(value.x) + ", " + std::to_string(value.y) + ", " + std::to_string(value.z) +
           "]";
}

}  // namespace

const KindInfo& info(FindingKind kind) {
    return kinds.at(static_cast<std::size_t>(kind));
}

std::span<const KindInfo> all_kinds() {
    return kinds;
}

CallChain without_own_code(CallChain chain) {
    auto is_own = [](const SourceLocation& place) { return place.file.starts_with(own_code); };
    if (!std::ranges::all_of(chain, is_own)) std::erase_if(chain, is_own);
    return chain;
}

std::string coordinates(const ThreadCoordinate& thread) {
    return "tid=" + triple(thread.tid) + " ctaid=" + triple(thread.ctaid);
}

std::string ranges(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& threads) {
    std::string text;
    for (const auto& [first, last] : threads) {
        if (!text.empty()) text += ", ";
        text += std::to_string(first);
        if (last != first) text += "-" + std::to_string(last);
    }
    return text;
}

std::string_view word(Severity severity) {
    switch (severity) {
        case Severity::error:
            return "error";
        case Severity::warning:
            return "warning";
        case Severity::note:
            return "note";
    }
    return "error";
}

}  // namespace cudasim::findings
