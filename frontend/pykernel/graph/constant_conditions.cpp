// Conditions that are known before typing: of literals and of names outside the function. Numba prunes their
// branches too, so what stands on the other side is neither typed nor compiled.
#include <limits>

#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {

/// A number known before typing: a literal or a global one. `storage` keeps a folded literal.
const GlobalValue* FlowGraphBuilder::constant_value(const Expression& syntax, GlobalValue& storage) const {
    if (auto folded = fold_literals(syntax)) {
        storage = std::move(*folded);
        return &storage;
    }
    if (syntax.kind == ExpressionKind::boolean) {
        storage = {.kind = GlobalKind::boolean, .integer = syntax.integer};
        return &storage;
    }
    const GlobalValue* value = outer(syntax);
    const bool number = value && (value->kind == GlobalKind::integer || value->kind == GlobalKind::boolean ||
                                  value->kind == GlobalKind::real);
    return number ? value : nullptr;
}

namespace {

/// The real part. Holds every 64-bit integer and every float64.
long double exact(const GlobalValue& value) {
    static_assert(std::numeric_limits<long double>::digits >= 64);
    if (value.kind == GlobalKind::real || value.kind == GlobalKind::complex) return value.real;
    if (value.type_name == "uint64") return static_cast<std::uint64_t>(value.integer);
    return value.integer;
}

template <typename Value>
std::optional<bool> compared(Operator op, const Value& a, const Value& b) {
    switch (op) {
        case Operator::equal:
            return a == b;
        case Operator::not_equal:
            return a != b;
        case Operator::less:
            return a < b;
        case Operator::less_equal:
            return a <= b;
        case Operator::greater:
            return a > b;
        case Operator::greater_equal:
            return a >= b;
        default:
            return std::nullopt;
    }
}

bool is_number(const GlobalValue& value) {
    return value.kind == GlobalKind::integer || value.kind == GlobalKind::boolean ||
           value.kind == GlobalKind::real;
}

std::optional<bool> truth_of(const GlobalValue& value) {
    switch (value.kind) {
        case GlobalKind::integer:
        case GlobalKind::boolean:
            return value.integer != 0;
        case GlobalKind::real:
            return value.real != 0;
        case GlobalKind::complex:
            return value.real != 0 || value.imaginary != 0;
        case GlobalKind::text:
            return !value.text.empty();
        case GlobalKind::tuple:
            return !value.elements.empty();
        case GlobalKind::none:
            return false;
        default:
            return std::nullopt;
    }
}

/// `is` of numbers and texts is left to the operator's own rules.
std::optional<bool> comparison(Operator op, const GlobalValue& left, const GlobalValue& right) {
    if (op == Operator::is || op == Operator::is_not) {
        const bool booleans = left.kind == GlobalKind::boolean && right.kind == GlobalKind::boolean;
        const bool none = left.kind == GlobalKind::none || right.kind == GlobalKind::none;
        if (!booleans && !none) return std::nullopt;
        const bool same = left.kind == right.kind && (none || (left.integer != 0) == (right.integer != 0));
        return same == (op == Operator::is);
    }
    if (is_number(left) && is_number(right)) return compared(op, exact(left), exact(right));
    const bool numbers = (is_number(left) || left.kind == GlobalKind::complex) &&
                         (is_number(right) || right.kind == GlobalKind::complex);
    if (numbers && (op == Operator::equal || op == Operator::not_equal)) {
        const bool same = exact(left) == exact(right) && left.imaginary == right.imaginary;
        return same == (op == Operator::equal);
    }
    if (left.kind == GlobalKind::text && right.kind == GlobalKind::text)
        return compared(op, left.text, right.text);
    return std::nullopt;
}

}  // namespace

/// What `and`, `or` and `a if b else c` give where constants choose.
const GlobalValue* FlowGraphBuilder::chosen_operand(const Expression& syntax, GlobalValue& storage) const {
    if (syntax.kind == ExpressionKind::conditional) {
        const auto truth = constant_truth(syntax.operands[0]);
        return truth ? constant_operand(syntax.operands[*truth ? 1 : 2], storage) : nullptr;
    }
    const GlobalValue* value = nullptr;
    for (const Expression& operand : syntax.operands) {
        value = constant_operand(operand, storage);
        const auto truth = value ? truth_of(*value) : std::nullopt;
        if (!truth) return nullptr;
        if (*truth == (syntax.kind == ExpressionKind::logical_or)) break;
    }
    return value;
}

/// As constant_value(), which this extends to texts, tuples, None and choices among them.
const GlobalValue* FlowGraphBuilder::constant_operand(const Expression& syntax, GlobalValue& storage) const {
    if (syntax.kind == ExpressionKind::none || syntax.kind == ExpressionKind::text) {
        storage = {.kind = syntax.kind == ExpressionKind::none ? GlobalKind::none : GlobalKind::text,
                   .text = syntax.text};
        return &storage;
    }
    if (syntax.kind == ExpressionKind::logical_and || syntax.kind == ExpressionKind::logical_or ||
        syntax.kind == ExpressionKind::conditional)
        return chosen_operand(syntax, storage);
    if (const GlobalValue* number = constant_value(syntax, storage)) return number;
    const GlobalValue* value = outer(syntax);
    return value && truth_of(*value) ? value : nullptr;
}

std::optional<bool> FlowGraphBuilder::constant_truth(const Expression& syntax) const {
    switch (syntax.kind) {
        case ExpressionKind::unary: {
            if (syntax.operators[0] != Operator::logical_not) break;
            const auto truth = constant_truth(syntax.operands[0]);
            return truth ? std::optional(!*truth) : std::nullopt;
        }
        case ExpressionKind::logical_and:
        case ExpressionKind::logical_or: {
            const bool is_and = syntax.kind == ExpressionKind::logical_and;
            for (const Expression& operand :
                 syntax.operands) {  // those before the deciding one must not be skipped
                const auto truth = constant_truth(operand);
                if (!truth || *truth != is_and) return truth;
            }
            return is_and;
        }
        case ExpressionKind::compare: {
            GlobalValue storage[2];
            const GlobalValue* left = constant_operand(syntax.operands[0], storage[0]);
            for (std::size_t i = 0; i < syntax.operators.size(); ++i) {
                const GlobalValue* right = constant_operand(syntax.operands[i + 1], storage[(i + 1) % 2]);
                const auto truth =
                    left && right ? comparison(syntax.operators[i], *left, *right) : std::nullopt;
                if (!truth || !*truth) return truth;
                left = right;
            }
            return true;
        }
        case ExpressionKind::binary: {
            if (fold_literals(syntax)) break;
            // Numba does not look into the operands of operands.
            GlobalValue storage[2];
            const GlobalValue* left = constant_operand(syntax.operands[0], storage[0]);
            const GlobalValue* right = constant_operand(syntax.operands[1], storage[1]);
            return left && right ? truth_of_operation(syntax.operators[0], *left, *right) : std::nullopt;
        }
        default:
            break;
    }
    GlobalValue storage;
    const GlobalValue* value = constant_operand(syntax, storage);
    return value ? truth_of(*value) : std::nullopt;
}

}  // namespace cudasim::pykernel
