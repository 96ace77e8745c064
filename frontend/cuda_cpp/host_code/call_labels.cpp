// See call_labels.h.
#include "frontend/cuda_cpp/host_code/call_labels.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "frontend/cuda_cpp/host_code/host_lines.h"

namespace cudasim::cuda_cpp {
namespace {

constexpr std::string_view separator = "@0x";
constexpr std::size_t longest_name = 40;

bool is_word(char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
        text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
    return text;
}

/// How much of the text lies before the first of these characters that is in no brackets of the text's own.
std::size_t length_until(std::string_view text, std::string_view ends) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (depth == 0 && ends.find(text[i]) != std::string_view::npos) return i;
        if (text[i] == '(' || text[i] == '[') ++depth;
        if (text[i] == ')' || text[i] == ']') --depth;
    }
    return std::string_view::npos;
}

/// Without "(void**)", "reinterpret_cast<void**>(...)", "&" and brackets around all of it.
std::string_view without_casts(std::string_view text) {
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        if (text.front() == '&') {
            text.remove_prefix(1);
        } else if (const auto cast = text.find("_cast<"); cast != std::string_view::npos && cast < 12) {
            const auto open = text.find('(', cast);
            if (open == std::string_view::npos || text.back() != ')') return {};
            text = text.substr(open + 1, text.size() - open - 2);
        } else if (text.front() == '(') {
            const auto inside = length_until(text.substr(1), ")");
            if (inside == std::string_view::npos) return {};
            const std::string_view rest = text.substr(inside + 2);
            text = trimmed(rest).empty() ? text.substr(1, inside) : rest;
        } else {
            break;
        }
    }
    return text;
}

std::string name_of(std::string_view function, const void* return_address) {
    const auto chain = host_lines(return_address);
    const std::string line = chain.empty() ? std::string{} : text_of_line(chain.front());
    const std::uint32_t column = chain.empty() ? 0 : host_column(return_address);
    std::string written(function), variable = first_argument(line, function, column);
    if (variable.empty() && function == "cudaHostAlloc") {
        // The template cudaMallocHost() calls it.
        variable = first_argument(line, "cudaMallocHost", column);
        if (!variable.empty()) written = "cudaMallocHost";
    }
    const std::string call = written + " " + host_place(return_address);
    return variable.empty() ? call : variable + " (" + call + ")";
}

}  // namespace

std::string call_label(std::string_view function, const void* return_address) {
    char digits[16];
    const auto end = std::to_chars(std::begin(digits), std::end(digits),
                                   reinterpret_cast<std::uint64_t>(return_address), 16)
                         .ptr;
    std::string label;
    label.reserve(function.size() + separator.size() + sizeof digits);
    label.append(function).append(separator).append(digits, end);
    return label;
}

std::optional<LabelledCall> labelled_call(std::string_view label) {
    const auto found = label.find(separator);
    if (found == std::string_view::npos || !std::all_of(label.begin(), label.begin() + found, is_word))
        return std::nullopt;
    std::uint64_t address = 0;
    const char* const end = label.data() + label.size();
    const auto parsed = std::from_chars(label.data() + found + separator.size(), end, address, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
    return LabelledCall{std::string(label.substr(0, found)), reinterpret_cast<const void*>(address)};
}

std::string first_argument(std::string_view line, std::string_view function, std::uint32_t column) {
    auto found = line.find(function, column > 0 ? column - 1 : 0);
    // The file may have changed, and a column may be that of the end of a macro.
    if (found == std::string_view::npos) found = line.find(function);
    if (found == std::string_view::npos) return {};
    std::string_view rest = line.substr(found + function.size());
    const auto open = rest.find('(');
    if (open == std::string_view::npos || !trimmed(rest.substr(0, open)).empty()) {
        // cudaMalloc<float>(&x, n), or another function whose name begins the same.
        if (rest.empty() || rest.front() != '<' || open == std::string_view::npos) return {};
    }
    rest.remove_prefix(open + 1);
    const auto length = length_until(rest, ",)");
    if (length == std::string_view::npos) return {};
    const std::string_view argument = without_casts(rest.substr(0, length));
    if (argument.empty() || argument.size() > longest_name || !is_word(argument.front())) return {};
    return std::string(argument);
}

std::string with_lines(std::string_view text) {
    std::string result;
    for (;;) {
        const auto found = text.find(separator);
        if (found == std::string_view::npos) return result.append(text);
        std::size_t begin = found;
        while (begin > 0 && is_word(text[begin - 1])) --begin;
        const std::string_view function = text.substr(begin, found - begin);
        std::uint64_t address = 0;
        const char* const digits = text.data() + found + separator.size();
        const auto parsed = std::from_chars(digits, text.data() + text.size(), address, 16);
        if (!function.starts_with("cuda") || parsed.ptr == digits) {
            result.append(text.substr(0, found + separator.size()));
            text.remove_prefix(found + separator.size());
            continue;
        }
        result.append(text.substr(0, begin));
        result += name_of(function, reinterpret_cast<const void*>(address));
        text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    }
}

void put_lines(std::vector<findings::Finding>& findings) {
    for (auto& finding : findings) {
        finding.message = with_lines(finding.message);
        if (finding.object) finding.object->name = with_lines(finding.object->name);
    }
}

}  // namespace cudasim::cuda_cpp
