// When a breakpoint that is passed often stops: ">= 3" or "3", "== 3", "% 3".
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cudasim::debugger {

struct HitCondition {
    enum class Kind : std::uint8_t { from, exactly, every } kind = Kind::from;
    std::uint64_t number = 0;
    bool operator==(const HitCondition&) const = default;

    /// @param hits counted from 1
    [[nodiscard]] bool stops(std::uint64_t hits) const {
        if (kind == Kind::exactly) return hits == number;
        if (kind == Kind::every) return hits % number == 0;
        return hits >= number;
    }

    /// Nothing for text that is no such condition.
    [[nodiscard]] static std::optional<HitCondition> parse(std::string_view text) {
        HitCondition condition;
        const auto skip_blanks = [&] {
            while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
        };
        skip_blanks();
        if (text.starts_with("==")) {
            condition.kind = Kind::exactly;
            text.remove_prefix(2);
        } else if (text.starts_with("%")) {
            condition.kind = Kind::every;
            text.remove_prefix(1);
        } else if (text.starts_with(">=")) {
            text.remove_prefix(2);
        }
        skip_blanks();
        const char* end_of_text = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), end_of_text, condition.number);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        skip_blanks();
        const bool valid =
            error == std::errc() && text.empty() && (condition.kind != Kind::every || condition.number != 0);
        return valid ? std::optional(condition) : std::nullopt;
    }
};

}  // namespace cudasim::debugger
