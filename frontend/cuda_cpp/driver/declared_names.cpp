// is_at_a_name(), add_attributes(), unite_declarations(): see patched_sources.h.
#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <string_view>

#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {
namespace {

using Copy = PatchedSources::Copy;

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The end of what is before `at` without spaces.
std::size_t behind_text(std::string_view text, std::size_t at) {
    while (at > 0 && std::isspace(static_cast<unsigned char>(text[at - 1]))) --at;
    return at;
}

std::size_t start_of_word(std::string_view text, std::size_t end) {
    while (end > 0 && is_word(text[end - 1])) --end;
    return end;
}

/// The start of `<…>` that ends at `end`; `end` if there is none.
std::size_t start_of_arguments(std::string_view text, std::size_t end) {
    if (end == 0 || text[end - 1] != '>') return end;
    int depth = 0;
    for (std::size_t at = end; at-- > 0;) {
        if (text[at] == '>') ++depth;
        if (text[at] == '<' && --depth == 0) return at;
    }
    return end;
}

}  // namespace

std::size_t start_of_qualified_name(std::string_view text, std::size_t name) {
    std::size_t start = name;
    while (true) {
        std::size_t at = behind_text(text, start);
        if (at < 2 || text.substr(at - 2, 2) != "::") return start;
        at = start_of_arguments(text, behind_text(text, at - 2));
        const std::size_t word = start_of_word(text, behind_text(text, at));
        if (word == behind_text(text, at)) return behind_text(text, start) - 2;  // "::f"
        start = word;
    }
}

bool is_at_a_name(const Copy* copy, const MessagePlace& place) {
    if (copy == nullptr || place.line == 0 || place.line > copy->lines.size()) return false;
    const std::string& text = copy->lines[place.line - 1];
    if (place.column == 0 || place.column > text.size()) return false;
    const std::size_t at = place.column - 1;
    if (text[at] != '~' && !is_word(text[at])) return false;
    // What clang declares itself has the place of its class.
    static const std::regex class_head(R"(\b(class|struct|union)\s+(alignas\s*\([^)]*\)\s*)?$)");
    return !std::regex_search(text.substr(0, at), class_head);
}

bool add_attributes(PatchedSources& sources, const std::vector<MessagePlace>& places,
                    const std::string& attributes) {
    std::set<std::tuple<std::string, std::size_t, std::size_t>> at;
    for (const MessagePlace& place : places) {
        const Copy* copy = sources.copy_of(place.file);
        if (!is_at_a_name(copy, place)) continue;
        const std::string& text = copy->lines[place.line - 1];
        const std::size_t start = start_of_qualified_name(text, place.column - 1);
        if (!std::string_view(text).substr(0, start).ends_with(attributes))
            at.emplace(place.file, place.line - 1, start);
    }
    for (auto each = at.rbegin(); each != at.rend(); ++each) {
        const auto& [file, line, column] = *each;
        sources.copy_of(file)->insert(line, column, attributes);
    }
    return !at.empty();
}

namespace {

/// Of a destructor "~S" that is defined outside of its class clang forgets what its declaration says.
/// @return the places "S::~S", if the class declares it in the same file for the device
std::vector<MessagePlace> definitions_of(const std::string& destructor, const std::string& file,
                                         const Copy& copy) {
    // A macro may stand for the attributes.
    static const std::regex attributes(R"((__device__|\b[A-Z][A-Z0-9_]+\b)[^;{}]*$)");
    const std::regex call(destructor + R"(\s*\()");
    std::vector<MessagePlace> places;
    bool declared = false;
    for (std::size_t line = 0; line < copy.lines.size(); ++line) {
        const std::string& text = copy.lines[line];
        std::smatch found;
        if (!std::regex_search(text, found, call)) continue;
        const auto name = static_cast<std::size_t>(found.position());
        if (start_of_qualified_name(text, name) != name)
            places.push_back({file, line + 1, name + 1, ""});
        else
            declared |= std::regex_search(text.substr(0, name), attributes);
    }
    return declared ? places : std::vector<MessagePlace>();
}

}  // namespace

bool unite_declarations(PatchedSources& sources, const std::string& messages) {
    static const std::regex different(
        R"(^: error: (\w+ )+function '.*' cannot overload (\w+ )+function '.*'$)");
    static const std::regex destructor(R"(^: error: reference to __host__ function '(~\w+)')");
    std::vector<MessagePlace> both, device;
    for (const Message& message : messages_in(messages)) {
        const std::string& text = message.place.rest;
        std::smatch name;
        if (std::regex_search(text, name, destructor) && !message.notes.empty()) {
            const MessagePlace& note = message.notes.back();
            if (const Copy* copy = sources.copy_of(note.file);
                copy != nullptr && !note.file.starts_with("/usr/"))
                for (const auto& place : definitions_of(name[1], note.file, *copy)) both.push_back(place);
        }
        if (std::regex_search(text, different) && text.find("__global__ function") == text.npos) {
            both.push_back(message.place);
            both.insert(both.end(), message.notes.begin(), message.notes.end());
        } else if (text.starts_with(": error: out-of-line definition of '") &&
                   text.find("' does not match any declaration in '") != text.npos) {
            // One of both is __device__. Other differences have other notes.
            const bool close = std::ranges::any_of(message.notes, [](const MessagePlace& note) {
                return note.rest == ": note: member declaration nearly matches";
            });
            if (!close && !message.notes.empty()) continue;
            device.push_back(message.place);
            device.insert(device.end(), message.notes.begin(), message.notes.end());
        }
    }
    const bool changed = add_attributes(sources, both, "__attribute__((host)) __attribute__((device)) ") ||
                         add_attributes(sources, device, "__attribute__((device)) ");
    if (changed) sources.write();
    return changed;
}

}  // namespace cudasim::nvcc
