// See assignment.h.
#include "debugger/values/assignment.h"

#include <array>

namespace cudasim::debugger {
namespace {

std::string_view trimmed(std::string_view text) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Calls `see(position)` for each character outside of brackets and quotes.
template <typename See>
void walk(std::string_view text, See&& see) {
    int depth = 0;
    char quote = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0) {
            if (c == '\\')
                ++at;
            else if (c == quote)
                quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '{') {
            ++depth;
        } else if (c == ')' || c == ']' || c == '}') {
            --depth;
        } else if (depth == 0) {
            see(at);
        }
    }
}

/// Whose arguments may have defaults.
bool begins_lambda(std::string_view text, std::size_t at) {
    const auto is_of_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    return text.substr(at).starts_with("lambda") && (at == 0 || !is_of_word(text[at - 1])) &&
           (at + 6 == text.size() || !is_of_word(text[at + 6]));
}

/// The operator that ends in front of the `=` at this place; nothing where it is part of a comparison.
std::optional<std::string_view> operation_before(std::string_view text, std::size_t equals) {
    constexpr std::array<std::string_view, 13> operations{"**", "//", "<<", ">>", "+", "-", "*",
                                                          "/",  "%",  "&",  "|",  "^", "@"};
    const std::string_view before = text.substr(0, equals);
    for (const std::string_view each : operations)
        if (before.ends_with(each)) return before.substr(equals - each.size());
    if (before.ends_with('!') || before.ends_with('<') || before.ends_with('>') || before.ends_with(':'))
        return std::nullopt;
    return std::string_view();
}

}  // namespace

std::optional<Assignment> assignment_from(std::string_view text) {
    Assignment found;
    std::size_t begin = 0, after = 0;
    bool is_lambda = false;
    walk(text, [&](std::size_t at) {
        if (begins_lambda(text, at)) is_lambda = true;
        if (text[at] != '=' || at < after || is_lambda || !found.operation.empty()) return;
        if (text.substr(at + 1).starts_with('=')) {
            after = at + 2;
            return;
        }
        const auto operation = operation_before(text, at);
        if (!operation || (!operation->empty() && !found.targets.empty())) return;
        found.operation = *operation;
        found.targets.emplace_back(trimmed(text.substr(begin, at - operation->size() - begin)));
        begin = at + 1;
    });
    found.value = trimmed(text.substr(begin));
    if (found.targets.empty() || found.value.empty()) return std::nullopt;
    for (const std::string& target : found.targets)
        if (target.empty()) return std::nullopt;
    return found;
}

std::size_t last_outside_of_brackets(std::string_view text, char wanted) {
    std::size_t found = std::string_view::npos;
    walk(text, [&](std::size_t at) {
        if (text[at] == wanted) found = at;
    });
    return found;
}

}  // namespace cudasim::debugger
