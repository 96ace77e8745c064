// See cpp_syntax.h.
#include "debugger/expressions/cpp_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <set>

namespace cudasim::debugger {
namespace {

using Kind = CppSyntax::Kind;
using Tree = std::unique_ptr<CppSyntax>;

constexpr unsigned deepest = 100;

/// Words of which the names of fundamental types consist, and types that are known by one word.
const std::set<std::string, std::less<>>& type_words() {
    static const std::set<std::string, std::less<>> words{
        "unsigned", "signed",   "char",     "short",   "int",     "long",     "float",
        "double",   "bool",     "int8_t",   "int16_t", "int32_t", "int64_t",  "uint8_t",
        "uint16_t", "uint32_t", "uint64_t", "size_t",  "const",   "ptrdiff_t"};
    return words;
}

struct Token {
    enum class Kind : std::uint8_t { end, name, number, operation } kind = Kind::end;
    std::string_view text;
    std::size_t column = 0;  ///< from 1
};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) { advance(); }

    Tree whole() {
        Tree tree = conditional();
        if (token_.kind != Token::Kind::end) fail("'" + std::string(token_.text) + "' was not expected");
        return tree;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw ExpressionError("column " + std::to_string(token_.column) + ": " + what);
    }

    // Tokens ------------------------------------------------------------------------------------------------

    void advance() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
        token_ = {Token::Kind::end, text_.substr(at_, 0), at_ + 1};
        if (at_ == text_.size()) return;
        const auto is_name = [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
        };
        const char first = text_[at_];
        std::size_t end = at_ + 1;
        if (std::isdigit(static_cast<unsigned char>(first)) != 0 ||
            (first == '.' && end < text_.size() &&
             std::isdigit(static_cast<unsigned char>(text_[end])) != 0)) {
            token_.kind = Token::Kind::number;
            const bool is_hexadecimal =
                text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X");
            while (end < text_.size()) {
                const char before = text_[end - 1];
                const bool is_sign = (text_[end] == '+' || text_[end] == '-') && !is_hexadecimal &&
                                     (before == 'e' || before == 'E');
                if (!is_name(text_[end]) && text_[end] != '.' && !is_sign) break;
                ++end;
            }
        } else if (is_name(first)) {
            token_.kind = Token::Kind::name;
            while (end < text_.size() && (is_name(text_[end]) || text_.substr(end).starts_with("::")))
                end += text_[end] == ':' ? 2 : 1;
        } else {
            token_.kind = Token::Kind::operation;
            constexpr std::array<std::string_view, 9> long_ones{
                "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
            for (const std::string_view each : long_ones)
                if (text_.substr(at_).starts_with(each)) end = at_ + each.size();
        }
        token_.text = text_.substr(at_, end - at_);
        at_ = end;
    }
    [[nodiscard]] bool is(std::string_view text) const {
        return token_.kind == Token::Kind::operation && token_.text == text;
    }
    bool take(std::string_view text) {
        if (!is(text)) return false;
        advance();
        return true;
    }
    void expect(std::string_view text) {
        if (!take(text))
            fail("'" + std::string(text) + "' is missing" +
                 (token_.kind == Token::Kind::end ? "" : " before '" + std::string(token_.text) + "'"));
    }

    // Trees -------------------------------------------------------------------------------------------------

    template <typename... Parts>
    static Tree tree(Kind kind, std::string_view text, Parts... parts) {
        auto made = std::make_unique<CppSyntax>();
        made->kind = kind;
        made->text = text;
        (made->parts.push_back(std::move(parts)), ...);
        return made;
    }

    Tree conditional() {
        if (++depth_ > deepest) fail("the expression is nested too deeply");
        Tree made = binary(0);
        if (take("?")) {
            Tree yes = conditional();
            expect(":");
            made = tree(Kind::conditional, "?:", std::move(made), std::move(yes), conditional());
        }
        --depth_;
        return made;
    }

    /// By how tightly they bind.
    Tree binary(std::size_t level) {
        static const std::array<std::set<std::string_view>, 10> levels{{{"||"},
                                                                        {"&&"},
                                                                        {"|"},
                                                                        {"^"},
                                                                        {"&"},
                                                                        {"==", "!="},
                                                                        {"<", ">", "<=", ">="},
                                                                        {"<<", ">>"},
                                                                        {"+", "-"},
                                                                        {"*", "/", "%"}}};
        if (level == levels.size()) return unary();
        Tree left = binary(level + 1);
        while (token_.kind == Token::Kind::operation && levels[level].contains(token_.text)) {
            const std::string_view operation = token_.text;
            advance();
            left = tree(Kind::binary, operation, std::move(left), binary(level + 1));
        }
        return left;
    }

    Tree unary() {
        if (++depth_ > deepest) fail("the expression is nested too deeply");
        Tree made = unary_of_any_depth();
        --depth_;
        return made;
    }

    Tree unary_of_any_depth() {
        for (const std::string_view operation : {"-", "+", "!", "~", "*", "&"}) {
            if (!take(operation)) continue;
            return tree(Kind::unary, operation, unary());
        }
        if (is("(")) {
            const Token before = token_;
            const std::size_t at = at_;
            advance();
            Tree cast = type_and_pointers();
            if (cast) expect(")");
            if (cast || (cast = type_of_program())) {
                cast->parts.push_back(unary());
                return cast;
            }
            token_ = before;
            at_ = at;
        }
        if (token_.kind == Token::Kind::name && token_.text == "sizeof") return size_of();
        return postfix();
    }

    /// Behind "(", where that begins a cast to a type of the program: up to the ")"; else null.
    Tree type_of_program() {
        if (token_.kind != Token::Kind::name) return nullptr;
        Tree cast = tree(Kind::cast, token_.text);
        cast->is_of_program = true;
        advance();
        while (take("*")) ++cast->pointers;
        if (!take(")")) return nullptr;
        const bool begins_operand = token_.kind == Token::Kind::name || token_.kind == Token::Kind::number;
        return cast->pointers != 0 || begins_operand ? std::move(cast) : nullptr;
    }

    Tree size_of() {
        advance();
        const Token before = token_;
        const std::size_t at = at_;
        if (take("(")) {
            Tree type = type_and_pointers();
            if (type) expect(")");
            if (!type) type = type_of_program();
            if (type && token_.kind != Token::Kind::name && token_.kind != Token::Kind::number && !is("(")) {
                type->kind = Kind::size_of;
                return type;
            }
            token_ = before;
            at_ = at;
        }
        return tree(Kind::size_of, "sizeof", unary());
    }

    /// A cast without its operand, where a fundamental type comes next; else null.
    Tree type_and_pointers() {
        std::string words;
        while (token_.kind == Token::Kind::name && type_words().contains(token_.text)) {
            if (token_.text != "const") words += (words.empty() ? "" : " ") + std::string(token_.text);
            advance();
        }
        if (words.empty()) return nullptr;
        Tree cast = tree(Kind::cast, fundamental_type(words));
        if (cast->text.empty()) fail("'" + words + "' is no type");
        while (take("*")) ++cast->pointers;
        return cast;
    }

    Tree postfix() {
        Tree made = primary();
        for (;;) {
            if (take("[")) {
                made = tree(Kind::index, "[]", std::move(made));
                do made->parts.push_back(conditional());
                while (take(","));
                expect("]");
            } else if (is(".") || is("->")) {
                const bool is_arrow = is("->");
                advance();
                if (token_.kind != Token::Kind::name) fail("the name of a member is missing");
                made = tree(Kind::member, token_.text, std::move(made));
                made->is_arrow = is_arrow;
                advance();
            } else if (is("(")) {
                fail("functions cannot be called here");
            } else {
                return made;
            }
        }
    }

    Tree primary() {
        if (take("(")) {
            Tree inside = conditional();
            expect(")");
            return inside;
        }
        if (token_.kind == Token::Kind::number) return number();
        if (token_.kind != Token::Kind::name)
            fail(token_.kind == Token::Kind::end ? "the expression ends too early"
                                                 : "'" + std::string(token_.text) + "' was not expected");
        if (token_.text == "true" || token_.text == "false") {
            Tree made = tree(Kind::boolean, token_.text);
            made->integer = token_.text == "true" ? 1 : 0;
            advance();
            return made;
        }
        if (token_.text == "nullptr") {
            advance();
            Tree made = tree(Kind::integer, "nullptr");
            made->is_unsigned = made->is_long = true;
            return made;
        }
        if (token_.text == "static_cast" || token_.text == "reinterpret_cast") {
            advance();
            expect("<");
            Tree cast = type_and_pointers();
            if (!cast) fail("a fundamental type is missing");
            expect(">");
            expect("(");
            cast->parts.push_back(conditional());
            expect(")");
            return cast;
        }
        if (Tree cast = type_and_pointers()) {
            expect("(");
            cast->parts.push_back(conditional());
            expect(")");
            return cast;
        }
        Tree made = tree(Kind::name, token_.text);
        advance();
        return made;
    }

    Tree number() {
        const std::string text(token_.text);
        Tree made = tree(Kind::integer, text);
        const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
        if (!is_hexadecimal && text.find_first_of(".eE") != std::string::npos) {
            made->kind = Kind::real;
            char* end = nullptr;
            made->real = std::strtod(text.c_str(), &end);
            const std::string_view suffix(end);
            made->is_float = suffix == "f" || suffix == "F";
            if (!suffix.empty() && !made->is_float) fail("'" + text + "' is no number");
            if (made->is_float) made->real = std::strtof(text.c_str(), &end);
        } else {
            const std::size_t digits = is_hexadecimal ? 2 : 0;
            const int base = is_hexadecimal ? 16 : text.size() > 1 && text[0] == '0' ? 8 : 10;
            const auto [end, error] =
                std::from_chars(text.data() + digits, text.data() + text.size(), made->integer, base);
            if (error == std::errc::result_out_of_range) fail("'" + text + "' does not fit into 64 bits");
            std::string suffix(end, text.data() + text.size());
            std::ranges::transform(suffix, suffix.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            static const std::set<std::string, std::less<>> suffixes{"",   "u",  "l",   "ul",
                                                                     "lu", "ll", "ull", "llu"};
            if (error != std::errc() || !suffixes.contains(suffix)) fail("'" + text + "' is no number");
            made->is_unsigned = suffix.find('u') != std::string::npos;
            made->is_long = suffix.find('l') != std::string::npos;
            if (base != 10 && made->integer > 0x7fffffff && made->integer <= 0xffffffff && !made->is_long)
                made->is_unsigned = true;
            if (made->integer > 0x7fffffffffffffff) made->is_unsigned = true;
        }
        advance();
        return made;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    Token token_;
    unsigned depth_ = 0;
};

}  // namespace

Tree parse_cpp(std::string_view text) {
    return Parser(text).whole();
}

std::string fundamental_type(std::string_view words) {
    std::map<std::string, int, std::less<>> count;
    for (std::size_t at = 0; at < words.size();) {
        const std::size_t end = std::min(words.find(' ', at), words.size());
        if (end != at) ++count[std::string(words.substr(at, end - at))];
        at = end + 1;
    }
    const auto take = [&](std::string_view word) {
        const auto found = count.find(word);
        const int number = found != count.end() ? found->second : 0;
        if (number != 0) count.erase(found);
        return number;
    };
    const bool is_unsigned = take("unsigned") != 0, is_signed = take("signed") != 0;
    const int longs = take("long");
    const bool is_short = take("short") != 0, is_int = take("int") != 0, is_char = take("char") != 0;
    if (is_unsigned && is_signed) return {};
    if (is_unsigned || is_signed || longs != 0 || is_short || is_int || is_char) {
        if (!count.empty() || longs > 2 || (is_char && (longs != 0 || is_short || is_int))) return {};
        return std::string(is_unsigned ? "u" : "") + (is_char      ? "int8"
                                                      : is_short   ? "int16"
                                                      : longs != 0 ? "int64"
                                                                   : "int32");
    }
    static const std::map<std::string, std::string, std::less<>> others{
        {"float", "float"},     {"double", "double"},   {"bool", "bool"},       {"int8_t", "int8"},
        {"int16_t", "int16"},   {"int32_t", "int32"},   {"int64_t", "int64"},   {"uint8_t", "uint8"},
        {"uint16_t", "uint16"}, {"uint32_t", "uint32"}, {"uint64_t", "uint64"}, {"size_t", "uint64"},
        {"ptrdiff_t", "int64"}};
    if (count.size() != 1 || count.begin()->second != 1) return {};
    const auto found = others.find(count.begin()->first);
    return found != others.end() ? found->second : std::string();
}

}  // namespace cudasim::debugger
