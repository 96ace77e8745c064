// See framing.h.
#include "debugger/dap/framing.h"

#include <algorithm>
#include <charconv>

namespace cudasim::debugger {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

/// The length that a header names.
std::optional<std::uint64_t> content_length(std::string_view header) {
    std::optional<std::uint64_t> length;
    while (!header.empty()) {
        const std::size_t end = std::min(header.find("\r\n"), header.size());
        const std::string_view line = header.substr(0, end);
        header.remove_prefix(std::min(end + 2, header.size()));
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return std::nullopt;
        if (!same_ignoring_case(trimmed(line.substr(0, colon)), "content-length")) continue;
        const std::string_view number = trimmed(line.substr(colon + 1));
        std::uint64_t value = 0;
        const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), value);
        if (error != std::errc() || last != number.data() + number.size()) return std::nullopt;
        length = value;
    }
    return length;
}

}  // namespace

MessageReader::Result MessageReader::next() {
    if (broken_) return {{}, "", true};
    if (to_skip_ != 0) {
        const std::uint64_t skipped = std::min<std::uint64_t>(to_skip_, buffer_.size());
        buffer_.erase(0, skipped);
        to_skip_ -= skipped;
        if (to_skip_ != 0) return {};
    }
    const std::size_t end = buffer_.find("\r\n\r\n");
    if (end == std::string::npos && buffer_.size() <= longest_header) return {};
    const auto length =
        end <= longest_header ? content_length(std::string_view(buffer_).substr(0, end)) : std::nullopt;
    if (!length) {
        broken_ = true;
        buffer_.clear();
        return {{}, "a message has no valid Content-Length header", true};
    }
    if (*length > longest_message) {
        buffer_.erase(0, end + 4);
        to_skip_ = *length;
        return {{},
                "a message of " + std::to_string(*length) + " bytes is passed over: the limit is " +
                    std::to_string(longest_message),
                false};
    }
    if (buffer_.size() < end + 4 + *length) return {};
    Result result;
    result.message = buffer_.substr(end + 4, *length);
    buffer_.erase(0, end + 4 + *length);
    return result;
}

std::string framed(std::string_view message) {
    return "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n" + std::string(message);
}

bool is_shallow(std::string_view json) {
    unsigned depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > deepest_message) return false;
        } else if ((c == '}' || c == ']') && depth != 0) {
            --depth;
        }
    }
    return true;
}

}  // namespace cudasim::debugger
