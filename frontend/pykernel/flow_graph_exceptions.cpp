// The messages of exceptions that kernels raise: constants, as str() of the exception shows them.
#include <charconv>

#include "frontend/pykernel/flow_graph_builder.h"

namespace cudasim::pykernel {

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
        const auto left = constant_text(syntax.operands[0], false), right = constant_text(syntax.operands[1], false);
        if (!left || !right) return std::nullopt;
        return quoted ? "'" + *left + *right + "'" : *left + *right;
    }
    if (syntax.kind == ExpressionKind::none) return "None";
    const GlobalValue* value = constant_value(syntax, storage);
    if (const GlobalValue* named = outer(syntax); named && named->kind == GlobalKind::text) value = named;
    if (syntax.kind == ExpressionKind::text || (value && value->kind == GlobalKind::text)) {
        const std::string& text = syntax.kind == ExpressionKind::text ? syntax.text : value->text;
        return quoted ? "'" + text + "'" : text;
    }
    if (!value) return std::nullopt;
    if (value->kind == GlobalKind::boolean) return value->integer ? "True" : "False";
    if (value->kind == GlobalKind::integer) return std::to_string(value->integer);
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, value->real).ptr;
    std::string text(digits, end);
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace cudasim::pykernel
