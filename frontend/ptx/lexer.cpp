// See lexer.h.
#include "frontend/ptx/lexer.h"

#include <bit>
#include <cctype>
#include <cstdlib>

#include "frontend/ptx/reader.h"

namespace cudasim::ptx {
namespace {

bool starts_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

bool continues_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

class Lexer {
  public:
    explicit Lexer(const std::string& text) : text_(text) {}

    std::vector<Token> run() {
        while (true) {
            const std::size_t before = position_;
            skip_blanks();
            touches_ = position_ == before;
            if (position_ == text_.size()) break;
            read_token();
        }
        add(Token::end, "");
        return std::move(found_);
    }

  private:
    [[nodiscard]] char at(std::size_t ahead) const {
        return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
    }

    [[noreturn]] void refuse(const std::string& reason) const { throw PtxError(reason, line_); }

    Token& add(Token::Kind kind, std::string text) {
        found_.push_back({kind, std::move(text), 0, 64, line_, touches_});
        return found_.back();
    }

    void skip_blanks() {
        while (position_ < text_.size()) {
            if (at(0) == '\n') {
                ++line_, ++position_;
            } else if (std::isspace(static_cast<unsigned char>(at(0)))) {
                ++position_;
            } else if (at(0) == '/' && at(1) == '/') {
                while (position_ < text_.size() && at(0) != '\n') ++position_;
            } else if (at(0) == '/' && at(1) == '*') {
                skip_comment();
            } else {
                return;
            }
        }
    }

    void skip_comment() {
        const std::size_t close = text_.find("*/", position_ + 2);
        if (close == std::string::npos) refuse("a comment is not closed");
        for (; position_ < close + 2; ++position_) line_ += text_[position_] == '\n';
    }

    void read_token() {
        const char first = at(0);
        if (starts_name(first)) {
            read_name();
        } else if (first == '.' && (starts_name(at(1)) || std::isdigit(static_cast<unsigned char>(at(1))))) {
            read_directive();
        } else if (std::isdigit(static_cast<unsigned char>(first))) {
            read_number();
        } else if (first == '"') {
            read_string();
        } else {
            add(Token::punctuation, std::string(1, first));
            ++position_;
        }
    }

    void read_name() {
        std::string name(1, text_[position_++]);
        while (continues_name(at(0))) name += text_[position_++];
        add(Token::identifier, std::move(name));
    }

    /// A modifier may begin with a digit (`.2d`) and have a part of its own (`.shared::cta`).
    void read_directive() {
        ++position_;
        std::string name;
        while (continues_name(at(0)) || at(0) == '%' || (at(0) == ':' && at(1) == ':')) {
            if (at(0) == ':') name += text_[position_++];
            name += text_[position_++];
        }
        add(Token::directive, std::move(name));
    }

    /// 0x.., 0b.., 0.. (octal), with or without U; 0f and 8 hexadecimal digits; 0d and 16; 1.5e3.
    void read_number() {
        const char second = at(1);
        if (at(0) == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
            const unsigned digits = second == 'f' || second == 'F' ? 8 : 16;
            position_ += 2;
            Token& token = add(Token::real, "");
            token.width = digits * 4;
            token.value = read_digits(16, digits);
            return;
        }
        std::size_t end = position_;
        while (std::isdigit(static_cast<unsigned char>(text_[end])) && end + 1 < text_.size()) ++end;
        if (text_[end] == '.' || ((text_[end] == 'e' || text_[end] == 'E') && second != 'x'))
            return read_decimal();
        unsigned base = 10;
        if (at(0) == '0' && (second == 'x' || second == 'X'))
            base = 16, position_ += 2;
        else if (at(0) == '0' && (second == 'b' || second == 'B'))
            base = 2, position_ += 2;
        else if (at(0) == '0')
            base = 8;
        add(Token::integer, "").value = read_digits(base, 0);
        if (at(0) == 'U' || at(0) == 'u') ++position_;
    }

    void read_decimal() {
        const char* begin = text_.c_str() + position_;
        char* end = nullptr;
        const double value = std::strtod(begin, &end);
        position_ += static_cast<std::size_t>(end - begin);
        add(Token::real, "").value = std::bit_cast<std::uint64_t>(value);
    }

    /// @param count how many there have to be; 0: at least one
    std::uint64_t read_digits(unsigned base, unsigned count) {
        std::uint64_t value = 0;
        unsigned read = 0;
        for (; count == 0 || read < count; ++read, ++position_) {
            const int digit = std::isalnum(static_cast<unsigned char>(at(0))) ? digit_of(at(0)) : 99;
            if (digit >= static_cast<int>(base)) break;
            value = value * base + static_cast<unsigned>(digit);
        }
        if (read == 0 || read < count) refuse("a number lacks digits");
        return value;
    }

    static int digit_of(char c) {
        if (c >= '0' && c <= '9') return c - '0';
        return std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
    }

    void read_string() {
        const std::size_t close = text_.find_first_of("\"\n", position_ + 1);
        if (close == std::string::npos || text_[close] == '\n') refuse("a string is not closed");
        add(Token::string, text_.substr(position_ + 1, close - position_ - 1));
        position_ = close + 1;
    }

    const std::string& text_;
    std::vector<Token> found_;
    std::size_t position_ = 0;
    int line_ = 1;
    bool touches_ = false;
};

}  // namespace

std::vector<Token> tokens(const std::string& text) {
    return Lexer(text).run();
}

}  // namespace cudasim::ptx
