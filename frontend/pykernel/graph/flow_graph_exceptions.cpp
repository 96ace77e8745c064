// The messages of exceptions that kernels raise: constants, as str() of the exception shows them.
#include <llvm/Support/Unicode.h>

#include <charconv>
#include <cstdio>

#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {

namespace {

/// The character at a position of UTF-8 text, in which surrogates may have three bytes, and how many bytes it
/// has.
std::pair<std::uint32_t, std::size_t> character_of(std::string_view text, std::size_t position) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[position + i]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length == 1 || position + length > text.size()) return {first, 1};
    std::uint32_t value = first & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) value = value << 6 | (byte(i) & 0x3fu);
    return {value, length};
}

std::string escape(std::uint32_t character) {
    if (character == '\n') return "\\n";
    if (character == '\r') return "\\r";
    if (character == '\t') return "\\t";
    char text[16];
    std::snprintf(text, sizeof text,
                  character < 0x100     ? "\\x%02x"
                  : character < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                  character);
    return text;
}

/// repr() of a string, as the arguments of an exception with several are shown.
std::string quoted_text(std::string_view text) {
    const bool has_single = text.find('\'') != std::string_view::npos;
    const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string result(1, quote);
    for (std::size_t i = 0; i < text.size();) {
        const auto [character, length] = character_of(text, i);
        const bool is_surrogate = character >= 0xd800 && character < 0xe000;
        if (character == '\\' || character == static_cast<unsigned char>(quote))
            (result += '\\') += text[i];
        else if (is_surrogate || !llvm::sys::unicode::isPrintable(static_cast<int>(character)))
            result += escape(character);
        else
            result += text.substr(i, length);
        i += length;
    }
    return result += quote;
}

}  // namespace

/// str(E("a")) is "a"; str(E("a", 1)) is "('a', 1)".
std::optional<std::string> FlowGraphBuilder::exception_message(const Expression& call) const {
    if (!call.keywords.empty()) return std::nullopt;
    const std::size_t count = call.operands.size() - 1;
    std::string message;
    for (std::size_t i = 1; i <= count; ++i) {
        const auto argument = constant_text(call.operands[i], count > 1);
        if (!argument) return std::nullopt;
        message += (i > 1 ? ", " : "") + *argument;
    }
    return count > 1 ? "(" + message + ")" : message;
}

/// A constant as it appears in an exception's message; empty for anything else.
std::optional<std::string> FlowGraphBuilder::constant_text(const Expression& syntax, bool quoted) const {
    GlobalValue storage;
    if (syntax.kind == ExpressionKind::tuple) {
        std::string list;
        for (const Expression& element : syntax.operands) {
            const auto text = constant_text(element, true);
            if (!text) return std::nullopt;
            list += (list.empty() ? "" : ", ") + *text;
        }
        return "(" + list + (syntax.operands.size() == 1 ? ",)" : ")");
    }
    const bool joins = syntax.kind == ExpressionKind::binary && syntax.operators[0] == Operator::add &&
                       !fold_literals(syntax);
    if (joins) {  // strings
        const auto left = constant_text(syntax.operands[0], false),
                   right = constant_text(syntax.operands[1], false);
        if (!left || !right) return std::nullopt;
        return quoted ? quoted_text(*left + *right) : *left + *right;
    }
    if (syntax.kind == ExpressionKind::none) return "None";
    const GlobalValue* value = constant_value(syntax, storage);
    if (const GlobalValue* named = outer(syntax); named && named->kind == GlobalKind::text) value = named;
    if (syntax.kind == ExpressionKind::text || (value && value->kind == GlobalKind::text)) {
        const std::string& text = syntax.kind == ExpressionKind::text ? syntax.text : value->text;
        return quoted ? quoted_text(text) : text;
    }
    if (!value || value->kind == GlobalKind::complex) return std::nullopt;
    if (value->kind == GlobalKind::boolean) return value->integer ? "True" : "False";
    if (value->kind == GlobalKind::integer) return std::to_string(value->integer);
    char digits[64];
    char* end = std::to_chars(digits, digits + sizeof digits, value->real).ptr;
    std::string text(digits, end);
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace cudasim::pykernel
