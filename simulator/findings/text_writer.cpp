// A finding as a report for people:
//
//   error: out-of-bounds-index: index 10 is out of bounds for axis 0 with size 10
//     at tid=[10, 0, 0] ctaid=[0, 0, 0] in kernel invert, and in 21 other threads
//     scale.py:6:16, in invert
//       6 |     x[i] = 1 / x[i]
//         |                ^
//     called from scale.py:12:5, in main
//     object: x, 80 bytes of global memory at 0x10000; the access is 0 bytes past its end
//     threads 0-31 of ctaid=[0, 0, 0]: waiting at barrier, scale.py:9:5, in invert
//     shown again by: cudasim run scale.py

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "simulator/findings/writers.h"

namespace cudasim::findings {
namespace {

/// Line `number` (from 1) of a text, without its end of line.
std::optional<std::string> line_of(std::istream& text, std::uint32_t number) {
    std::string line;
    for (std::uint32_t i = 0; i < number; ++i) {
        if (!std::getline(text, line)) return std::nullopt;
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
}

std::optional<std::string> source_line(const SourceLocation& where,
                                       std::span<const image::SourceFile> sources) {
    if (where.line == 0) return std::nullopt;
    for (const auto& source : sources) {
        if (source.path != where.file) continue;
        std::istringstream text(source.text);
        return line_of(text, where.line);
    }
    std::ifstream file(where.file);
    return file ? line_of(file, where.line) : std::nullopt;
}

std::string place(const SourceLocation& where) {
    std::string text = where.file.empty() ? "unknown file" : where.file;
    if (where.line != 0) text += ":" + std::to_string(where.line);
    if (where.line != 0 && where.column != 0) text += ":" + std::to_string(where.column);
    if (!where.function.empty()) text += ", in " + where.function;
    return text;
}

/// The quoted line with a caret under its column. Tabs are kept so that the caret stands right.
std::string quotation(const SourceLocation& where, std::span<const image::SourceFile> sources) {
    const auto line = source_line(where, sources);
    if (!line) return {};
    const std::string number = std::to_string(where.line);
    std::string text = "    " + number + " | " + *line + "\n";
    if (where.column == 0 || where.column > line->size() + 1) return text;
    std::string indent;
    for (std::uint32_t i = 0; i + 1 < where.column; ++i) indent += (*line)[i] == '\t' ? '\t' : ' ';
    return text + "    " + std::string(number.size(), ' ') + " | " + indent + "^\n";
}

std::string call_chain(const CallChain& chain, std::span<const image::SourceFile> sources) {
    std::string text;
    for (std::size_t i = 0; i < chain.size(); ++i) {
        text += (i == 0 ? "  " : "  called from ") + place(chain[i]) + "\n";
        if (i == 0) text += quotation(chain[i], sources);
    }
    return text;
}

/// "in kernel invert, and in 21 other threads"
std::string kernel_and_others(const Finding& finding) {
    std::string text;
    if (!finding.kernel.empty()) text += " in kernel " + finding.kernel;
    if (finding.threads > 1) {
        const auto others = finding.threads - 1;
        text += ", and in " + std::to_string(others) + (others == 1 ? " other thread" : " other threads");
    }
    if (finding.count > finding.threads) text += ", " + std::to_string(finding.count) + " times";
    return text + "\n";
}

std::string who(const Finding& finding) {
    return "  at " + coordinates(finding.thread) + kernel_and_others(finding);
}

std::string hexadecimal(std::uint64_t value) {
    char digits[16];
    auto* const end = std::to_chars(std::begin(digits), std::end(digits), value, 16).ptr;
    return "0x" + std::string(digits, end);
}

std::string object_line(const MemoryObject& object) {
    std::string text = "  object: " + (object.name.empty() ? std::string("unnamed") : object.name) + ", " +
                       std::to_string(object.bytes) + " bytes";
    if (!object.space.empty()) text += " of " + object.space + " memory";
    text += " at " + hexadecimal(object.address) + "; the access is ";
    if (object.offset < 0) {
        text += std::to_string(0 - static_cast<std::uint64_t>(object.offset)) + " bytes before its start";
    } else if (static_cast<std::uint64_t>(object.offset) >= object.bytes) {
        text +=
            std::to_string(static_cast<std::uint64_t>(object.offset) - object.bytes) + " bytes past its end";
    } else {
        text += "at byte " + std::to_string(object.offset);
    }
    return text + "\n";
}

std::string waiting_line(const WaitingGroup& group) {
    const ThreadCoordinate block{group.block, 0, group.ctaid, {0, 0, 0}};
    const std::string position = coordinates(block);
    std::string text = "  threads " + ranges(group.threads) + " of " +
                       position.substr(position.find("ctaid")) + ": " + group.state;
    if (!group.location.empty()) text += ", " + place(group.location.front());
    return text + "\n";
}

std::string accesses_text(const Finding& finding, std::span<const image::SourceFile> sources) {
    std::string text;
    for (std::size_t i = 0; i < finding.accesses.size(); ++i) {
        const RacingAccess& access = finding.accesses[i];
        text += "  " + access.what;
        if (!access.of_host) text += " by " + coordinates(access.thread);
        if (!access.value.empty()) text += ", value " + access.value;
        text += ":\n";
        if (!access.location.empty()) {
            text += "    " + place(access.location.front()) + "\n";
            text += quotation(access.location.front(), sources);
        }
    }
    return text;
}

}  // namespace

bool has_no_thread(const Finding& finding) {
    switch (finding.kind) {
        case FindingKind::memory_leak:
        case FindingKind::unused_allocation:
        case FindingKind::uninitialised_copy:
        case FindingKind::failed_call:
            return true;
        default:
            return is_of_host(finding);
    }
}

std::string text_report(const Finding& finding, std::span<const image::SourceFile> sources) {
    std::string text = std::string(word(finding.severity)) + ": " + std::string(info(finding.kind).name) +
                       ": " + finding.message + "\n";
    if (!has_no_thread(finding)) text += who(finding);
    if (finding.accesses.empty()) text += call_chain(finding.location, sources);
    text += accesses_text(finding, sources);
    if (finding.object) text += object_line(*finding.object);
    for (const auto& group : finding.waiting) text += waiting_line(group);
    if (!finding.reproduce.empty()) text += "  shown again by: " + finding.reproduce + "\n";
    return text;
}

std::string note_report(const Finding& finding, std::span<const image::SourceFile> sources) {
    constexpr std::size_t most_groups = 8;
    std::string text;
    if (!finding.kernel.empty()) text += " " + kernel_and_others(finding);
    if (finding.accesses.empty() && !finding.location.empty())
        text += quotation(finding.location.front(), sources);
    text += accesses_text(finding, sources);
    if (finding.object) text += object_line(*finding.object);
    std::vector<const WaitingGroup*> others;  // the message has its own block's
    for (const auto& group : finding.waiting)
        if (group.block != finding.thread.block) others.push_back(&group);
    for (std::size_t i = 0; i < std::min(others.size(), most_groups); ++i) text += waiting_line(*others[i]);
    if (others.size() > most_groups)
        text += "  and " + std::to_string(others.size() - most_groups) + " more groups of threads\n";
    if (!finding.reproduce.empty()) text += "  shown again by: " + finding.reproduce + "\n";
    return text;
}

}  // namespace cudasim::findings
