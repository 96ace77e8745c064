#include "gpu_backend/comparison/python_literal.h"

#include <limits>
#include <utility>

namespace cudasim::comparison {
namespace {

void append_utf8(std::string& text, std::uint32_t character) {
    const auto byte = [&](std::uint32_t value) { text.push_back(static_cast<char>(value)); };
    if (character < 0x80) {
        byte(character);
    } else if (character < 0x800) {
        byte(0xC0 | (character >> 6));
        byte(0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        byte(0xE0 | (character >> 12));
        byte(0x80 | ((character >> 6) & 0x3F));
        byte(0x80 | (character & 0x3F));
    } else {
        byte(0xF0 | ((character >> 18) & 0x07));
        byte(0x80 | ((character >> 12) & 0x3F));
        byte(0x80 | ((character >> 6) & 0x3F));
        byte(0x80 | (character & 0x3F));
    }
}

class Parser {
  public:
    explicit Parser(std::string_view text) : rest_(text) {}

    std::optional<Literal> whole() {
        Literal value;
        if (!parse(value, 0)) return std::nullopt;
        skip_space();
        if (!rest_.empty()) return std::nullopt;
        return value;
    }

  private:
    static constexpr int deepest = 64;

    void skip_space() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    }

    bool take(char expected) {
        skip_space();
        if (rest_.empty() || rest_.front() != expected) return false;
        rest_.remove_prefix(1);
        return true;
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static bool is_word(char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
    }

    bool parse(Literal& value, int depth) {
        skip_space();
        if (rest_.empty() || depth == deepest) return false;
        if (take('(')) return sequence(value, Literal::Kind::tuple, ')', depth);
        if (take('[')) return sequence(value, Literal::Kind::list, ']', depth);
        if (take('{')) return dictionary(value, depth);
        const char first = rest_.front();
        if (first == '\'' || first == '"') return string(value);
        if (is_digit(first)) return integer(value);
        value.kind = Literal::Kind::name;
        while (!rest_.empty() && is_word(rest_.front())) {
            value.text.push_back(rest_.front());
            rest_.remove_prefix(1);
        }
        return !value.text.empty();
    }

    bool sequence(Literal& value, Literal::Kind kind, char end, int depth) {
        value.kind = kind;
        while (!take(end)) {
            if (!parse(value.items.emplace_back(), depth + 1)) return false;
            if (take(',')) continue;
            return take(end);
        }
        return true;
    }

    bool dictionary(Literal& value, int depth) {
        value.kind = Literal::Kind::dictionary;
        while (!take('}')) {
            if (!parse(value.items.emplace_back(), depth + 1) || !take(':')) return false;
            if (!parse(value.items.emplace_back(), depth + 1)) return false;
            if (take(',')) continue;
            return take('}');
        }
        return true;
    }

    bool integer(Literal& value) {
        value.kind = Literal::Kind::integer;
        while (!rest_.empty() && is_digit(rest_.front())) {
            if (value.integer > std::numeric_limits<std::uint64_t>::max() / 10 - 1) return false;
            value.integer = value.integer * 10 + static_cast<std::uint64_t>(rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return rest_.empty() || !is_word(rest_.front());
    }

    bool string(Literal& value) {
        value.kind = Literal::Kind::string;
        const char quote = rest_.front();
        rest_.remove_prefix(1);
        while (!rest_.empty() && rest_.front() != quote) {
            const char c = rest_.front();
            rest_.remove_prefix(1);
            if (c != '\\')
                value.text.push_back(c);
            else if (!escape(value.text))
                return false;
        }
        return take(quote);
    }

    bool escape(std::string& text) {
        if (rest_.empty()) return false;
        const char c = rest_.front();
        rest_.remove_prefix(1);
        switch (c) {
            case 'n':
                text.push_back('\n');
                return true;
            case 't':
                text.push_back('\t');
                return true;
            case 'r':
                text.push_back('\r');
                return true;
            case 'x':
                return character(text, 2);
            case 'u':
                return character(text, 4);
            case 'U':
                return character(text, 8);
            case '\\':
            case '\'':
            case '"':
                text.push_back(c);
                return true;
            default:
                return false;
        }
    }

    bool character(std::string& text, std::size_t digits) {
        if (rest_.size() < digits) return false;
        std::uint32_t value = 0;
        for (const char digit : rest_.substr(0, digits)) {
            constexpr std::string_view hexadecimal = "0123456789abcdef";
            const std::size_t known = hexadecimal.find(digit);
            if (known == std::string_view::npos) return false;
            value = value * 16 + static_cast<std::uint32_t>(known);
        }
        rest_.remove_prefix(digits);
        append_utf8(text, value);
        return true;
    }

    std::string_view rest_;
};

}  // namespace

const Literal* Literal::find(std::string_view key) const {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        if (items[i].kind == Kind::string && items[i].text == key) return &items[i + 1];
    return nullptr;
}

std::optional<Literal> parse_literal(std::string_view text) {
    return Parser(text).whole();
}

}  // namespace cudasim::comparison
