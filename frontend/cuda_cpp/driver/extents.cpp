// name_type_of_extents(): see patched_sources.h.
#include <cctype>
#include <string>

#include "frontend/cuda_cpp/driver/code_text.h"
#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {
namespace {

/// The lines up to a place in the last of them, as one text.
std::string text_before(const PatchedSources::Copy& copy, std::size_t line, std::size_t column) {
    std::string text;
    for (std::size_t each = 0; each < line; ++each) text += copy.lines[each] + "\n";
    return text + copy.lines[line].substr(0, column);
}

/// Whether an argument of <<<>>> begins where the text ends, be it on a later line.
bool begins_extent(const std::string& text) {
    const std::size_t open = text.rfind("<<<");
    if (open == text.npos) return false;
    char last = ',';
    for (std::size_t at = open + 3; at < text.size();) {
        const std::size_t end = skip_no_code(text, at);
        const char c = text[at];
        at = end == at ? at + 1 : end;
        if (end == at || std::isspace(static_cast<unsigned char>(c)) != 0) continue;
        if (c == ';' || text.compare(at - 1, 3, ">>>") == 0) return false;
        if (c != '\\') last = c;  // the end of a macro's line
    }
    return last == ',';
}

}  // namespace

bool name_type_of_extents(PatchedSources& sources, const std::string& messages) {
    bool changed = false;
    for (const MessagePlace& place :
         places_of({"error: expected expression"}, messages, Expansions::innermost)) {
        PatchedSources::Copy* copy = sources.copy_at(place);
        if (copy == nullptr) continue;
        const std::string& text = copy->lines[place.line - 1];
        const std::size_t column = place.column - 1;
        if (column >= text.size() || text[column] != '{' ||
            !begins_extent(text_before(*copy, place.line - 1, column)))
            continue;
        copy->insert(place.line - 1, column, "dim3");
        changed = true;
    }
    if (changed) sources.write();
    return changed;
}

}  // namespace cudasim::nvcc
