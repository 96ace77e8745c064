// double_percent_signs(): see patched_sources.h.
#include <cctype>

#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {
namespace {

using Copy = PatchedSources::Copy;

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool double_at(Copy& copy, std::size_t line, std::size_t column) {
    const std::string& text = copy.lines[line];
    std::size_t first = column, end = column;
    while (first > 0 && text[first - 1] == '%') --first;
    while (end < text.size() && text[end] == '%') ++end;
    if ((end - first) % 2 == 0) return false;
    // A space behind a comma gives its place to the sign, so that columns stay what they are.
    if (first >= 2 && text[first - 1] == ' ' && text[first - 2] == ',')
        copy.replace(line, first - 1, '%');
    else
        copy.insert(line, column, "%");
    return true;
}

/// The other signs of the same assembly: on to the end of the string literals that follow each other.
void double_from(Copy& copy, std::size_t line, std::size_t column) {
    for (bool inside = true; line < copy.lines.size(); ++line, column = 0) {
        for (; column < copy.lines[line].size(); ++column) {
            const std::string& text = copy.lines[line];
            const char c = text[column], next = column + 1 < text.size() ? text[column + 1] : '\0';
            if (!inside) {
                if (c == '"') inside = true;
                if (c != '"' && c != ' ' && c != '\t' && c != '\r' && !(c == '\\' && next == '\0')) return;
            } else if (c == '"') {
                inside = false;
            } else if (c == '\\' || (c == '%' && !is_letter(next))) {
                ++column;  // the next one, too: "%%", "%0", "\n"
            } else if (c == '%') {
                const char second = column + 2 < text.size() ? text[column + 2] : '\0';
                const std::size_t before = text.size();
                // "%r0" is an operand for nvcc, too.
                if (!is_digit(second) && second != '[' && double_at(copy, line, column))
                    column += copy.lines[line].size() - before;
            }
        }
    }
}

}  // namespace

bool double_percent_signs(PatchedSources& sources, const std::string& messages) {
    bool changed = false;
    for (const MessagePlace& place :
         places_of({"error: invalid % escape in inline assembly string"}, messages, Expansions::innermost)) {
        Copy* copy = sources.copy_at(place);
        if (copy == nullptr) continue;
        const std::size_t line = place.line - 1;
        const std::string& text = copy->lines[line];
        // clang names the character behind the first letter; or the macro's `#name` behind "… %".
        std::size_t at = place.column >= 3 ? place.column - 3 : text.npos;
        if (at >= text.size() || text[at] != '%') {
            at = text.rfind("%\"", place.column - 1);
            if (at == text.npos) continue;
        }
        const std::size_t before = text.size();
        if (!double_at(*copy, line, at)) continue;
        changed = true;
        double_from(*copy, line, at + 1 + text.size() - before);
    }
    if (changed) sources.write();
    return changed;
}

}  // namespace cudasim::nvcc
