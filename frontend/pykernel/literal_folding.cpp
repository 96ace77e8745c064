// Arithmetic on number literals, done while compiling as CPython's own compiler does it: `-1`, `16 * 16`
// and `2 ** -1` are literals.
#include <cmath>
#include <limits>

#include "frontend/pykernel/flow_graph_builder.h"

namespace cudasim::pykernel {
namespace {

GlobalValue integer_value(std::int64_t value) {
    return {.kind = GlobalKind::integer, .type_name = "int64", .integer = value};
}
GlobalValue real_value(double value) {
    return {.kind = GlobalKind::real, .type_name = "float64", .real = value};
}

std::optional<std::int64_t> narrow(__int128 value) {
    if (value < std::numeric_limits<std::int64_t>::min() ||
        value > std::numeric_limits<std::int64_t>::max()) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> integer_power(std::int64_t base, std::int64_t exponent) {
    __int128 result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) {
        result *= base;
        if (!narrow(result) || i > 64) return base == 0 || base == 1 ? std::optional(base) : std::nullopt;
    }
    return narrow(result);
}

std::optional<std::int64_t> fold_integers(Operator op, std::int64_t a, std::int64_t b) {
    const __int128 wide = a;
    switch (op) {
        case Operator::add:
            return narrow(wide + b);
        case Operator::subtract:
            return narrow(wide - b);
        case Operator::multiply:
            return narrow(wide * b);
        case Operator::floor_divide:
            if (b == 0) return std::nullopt;
            return narrow(wide / b - (wide % b != 0 && (wide % b < 0) != (b < 0)));
        case Operator::modulo: {
            if (b == 0) return std::nullopt;
            const __int128 rest = wide % b;
            return narrow(rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0));
        }
        case Operator::power:
            return b >= 0 ? integer_power(a, b) : std::nullopt;
        case Operator::left_shift:
            return b >= 0 && b < 63 ? narrow(wide << b) : std::nullopt;
        case Operator::right_shift:
            return b >= 0 ? narrow(wide >> (b > 63 ? 63 : b)) : std::nullopt;
        case Operator::bit_and:
            return a & b;
        case Operator::bit_or:
            return a | b;
        case Operator::bit_xor:
            return a ^ b;
        default:
            return std::nullopt;
    }
}

std::optional<GlobalValue> fold_reals(Operator op, double a, double b) {
    switch (op) {
        case Operator::add:
            return real_value(a + b);
        case Operator::subtract:
            return real_value(a - b);
        case Operator::multiply:
            return real_value(a * b);
        case Operator::true_divide:
            return b == 0 ? std::nullopt : std::optional(real_value(a / b));
        case Operator::power:
            if (a == 0 && b < 0) return std::nullopt;
            if (a < 0 && b != std::floor(b)) return std::nullopt;
            return real_value(std::pow(a, b));
        default:
            return std::nullopt;
    }
}

std::optional<GlobalValue> fold_unary(const Expression& syntax) {
    const auto value = fold_literals(syntax.operands[0]);
    if (!value) return std::nullopt;
    const bool is_integer = value->kind == GlobalKind::integer && value->type_name == "int64";
    switch (syntax.operators[0]) {
        case Operator::plus:
            return value;
        case Operator::negate: {
            if (value->kind == GlobalKind::real) return real_value(-value->real);
            const bool lowest =
                value->type_name == "uint64" && value->integer == std::numeric_limits<std::int64_t>::min();
            if (!is_integer && !lowest) return std::nullopt;
            if (lowest) return integer_value(value->integer);
            return integer_value(-value->integer);
        }
        case Operator::invert:
            return is_integer ? std::optional(integer_value(~value->integer)) : std::nullopt;
        default:
            return std::nullopt;
    }
}

std::optional<GlobalValue> fold_binary(const Expression& syntax) {
    const auto a = fold_literals(syntax.operands[0]);
    const auto b = fold_literals(syntax.operands[1]);
    if (!a || !b || a->type_name == "uint64" || b->type_name == "uint64") return std::nullopt;
    const Operator op = syntax.operators[0];
    const bool integers = a->kind == GlobalKind::integer && b->kind == GlobalKind::integer;
    if (integers) {
        if (const auto value = fold_integers(op, a->integer, b->integer)) return integer_value(*value);
        if (op != Operator::true_divide && !(op == Operator::power && b->integer < 0)) return std::nullopt;
    }
    auto real = [](const GlobalValue& value) {
        return value.kind == GlobalKind::real ? value.real : static_cast<double>(value.integer);
    };
    return fold_reals(op, real(*a), real(*b));
}

}  // namespace

std::optional<GlobalValue> fold_literals(const Expression& syntax) {
    switch (syntax.kind) {
        case ExpressionKind::integer:
            return GlobalValue{.kind = GlobalKind::integer,
                               .type_name = syntax.needs_unsigned ? "uint64" : "int64",
                               .integer = syntax.integer};
        case ExpressionKind::real:
            return real_value(syntax.real);
        case ExpressionKind::unary:
            return fold_unary(syntax);
        case ExpressionKind::binary:
            return fold_binary(syntax);
        default:
            return std::nullopt;
    }
}

}  // namespace cudasim::pykernel
