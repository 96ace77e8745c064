// See code_text.h.
#include "frontend/cuda_cpp/driver/code_text.h"

#include <algorithm>
#include <cctype>

namespace cudasim::nvcc {
namespace {

constexpr std::size_t none = std::string::npos;

std::size_t skip_quoted(const std::string& text, std::size_t at) {
    const char quote = text[at];
    if (quote == '"' && at > 0 && text[at - 1] == 'R') {
        const std::size_t open = text.find('(', at);
        if (open == none) return text.size();
        const std::string end = ")" + text.substr(at + 1, open - at - 1) + "\"";
        const std::size_t found = text.find(end, open);
        return found == none ? text.size() : found + end.size();
    }
    for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at)
        if (text[at] == '\\') ++at;
    return at + 1;
}

}  // namespace

std::size_t skip_no_code(const std::string& text, std::size_t at) {
    const char c = text[at];
    if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
    if (text.compare(at, 2, "/*") == 0) {
        const std::size_t end = text.find("*/", at + 2);
        return end == none ? text.size() : end + 2;
    }
    if (c == '#') {  // a directive, with the lines that it goes on to
        while (at < text.size() && (text[at] != '\n' || text[at - 1] == '\\')) ++at;
        return at;
    }
    const bool digit_separator =
        c == '\'' && at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]));
    return c == '"' || (c == '\'' && !digit_separator) ? skip_quoted(text, at) : at;
}

std::size_t behind_bracket(const std::string& text, std::size_t at) {
    std::size_t depth = 0;
    while (at < text.size()) {
        if (const std::size_t end = skip_no_code(text, at); end != at) {
            at = end;
            continue;
        }
        const char c = text[at++];
        if (c == '(' || c == '{' || c == '[') ++depth;
        if ((c == ')' || c == '}' || c == ']') && --depth == 0) return at;
    }
    return none;
}

}  // namespace cudasim::nvcc
