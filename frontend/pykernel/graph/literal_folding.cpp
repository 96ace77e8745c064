// Arithmetic on number literals, done while compiling as CPython's own compiler does it: `-1`, `16 * 16`
// and `2 ** -1` are literals, and `(1, 2) * 2` is a tuple.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {
namespace {

/// A literal while it is folded: Python's integers are wider than any type, and `2**64 - 1` is a uint64.
struct Literal {
    bool is_real = false;
    bool is_complex = false;
    bool is_bool = false;
    bool too_large = false;  ///< beyond 127 bits: no type holds it
    __int128 integer = 0;
    double real = 0, imaginary = 0;
};
using Folded = std::optional<Literal>;

Literal integer_literal(__int128 value) {
    return {.integer = value};
}
Literal boolean_literal(bool value) {
    return {.is_bool = true, .integer = value};
}
Literal real_literal(double value) {
    return {.is_real = true, .real = value};
}
Literal complex_literal(double real, double imaginary) {
    return {.is_complex = true, .real = real, .imaginary = imaginary};
}

int bit_length(__int128 value) {
    int bits = 0;
    for (auto rest = static_cast<unsigned __int128>(value < 0 ? -value : value); rest; rest >>= 1) ++bits;
    return bits;
}

/// CPython folds products, powers and shifts only up to this size (Python/ast_opt.c); larger ones are
/// computed when the kernel runs, in 64 bits.
constexpr int largest_folded_bits = 128;

Folded multiply(__int128 a, __int128 b) {
    if (bit_length(a) + bit_length(b) > largest_folded_bits) return std::nullopt;
    __int128 product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return Literal{.too_large = true};
    return integer_literal(product);
}

Folded integer_power(__int128 base, __int128 exponent) {
    if (exponent < 0 || (exponent > 0 && bit_length(base) > largest_folded_bits / exponent))
        return std::nullopt;
    __int128 result = 1;
    const int times = bit_length(base) == 0 ? (exponent > 0 ? 1 : 0) : static_cast<int>(exponent);
    for (int i = 0; i < times; ++i) {
        if (__builtin_mul_overflow(result, base, &result)) return Literal{.too_large = true};
    }
    return integer_literal(result);
}

Folded shift_left(__int128 value, __int128 amount) {
    if (amount < 0 || amount > largest_folded_bits - bit_length(value)) return std::nullopt;
    return bit_length(value) + amount > 126 ? Folded(Literal{.too_large = value != 0})
                                            : integer_literal(value * (static_cast<__int128>(1) << amount));
}

Folded fold_integers(Operator op, __int128 a, __int128 b) {
    __int128 result = 0;
    switch (op) {
        case Operator::add:
            if (__builtin_add_overflow(a, b, &result)) return Literal{.too_large = true};
            return integer_literal(result);
        case Operator::subtract:
            if (__builtin_sub_overflow(a, b, &result)) return Literal{.too_large = true};
            return integer_literal(result);
        case Operator::multiply:
            return multiply(a, b);
        case Operator::floor_divide:
            if (b == 0) return std::nullopt;
            return integer_literal(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
        case Operator::modulo: {
            if (b == 0) return std::nullopt;
            const __int128 rest = a % b;
            return integer_literal(rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0));
        }
        case Operator::power:
            return integer_power(a, b);
        case Operator::left_shift:
            return shift_left(a, b);
        case Operator::right_shift:
            return b >= 0 ? Folded(integer_literal(a >> (b > 126 ? 126 : static_cast<int>(b))))
                          : std::nullopt;
        case Operator::bit_and:
            return integer_literal(a & b);
        case Operator::bit_or:
            return integer_literal(a | b);
        case Operator::bit_xor:
            return integer_literal(a ^ b);
        default:
            return std::nullopt;
    }
}

/// Python's float // and %: the remainder has the divisor's sign (language reference, 6.7).
Folded floor_division(Operator op, double a, double b) {
    if (b == 0) return std::nullopt;
    double rest = std::fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
        rest += b;
        quotient -= 1;
    } else if (rest == 0) {
        rest = std::copysign(0.0, b);
    }
    if (op == Operator::modulo) return real_literal(rest);
    if (quotient == 0) return real_literal(std::copysign(0.0, a / b));
    const double down = std::floor(quotient);
    return real_literal(quotient - down > 0.5 ? down + 1 : down);
}

Folded fold_reals(Operator op, double a, double b) {
    switch (op) {
        case Operator::add:
            return real_literal(a + b);
        case Operator::subtract:
            return real_literal(a - b);
        case Operator::multiply:
            return real_literal(a * b);
        case Operator::true_divide:
            return b == 0 ? std::nullopt : Folded(real_literal(a / b));
        case Operator::floor_divide:
        case Operator::modulo:
            return floor_division(op, a, b);
        case Operator::power:
            if (a == 0 && b < 0) return std::nullopt;
            if (a < 0 && b != std::floor(b)) {
                const double size = std::pow(-a, b), angle = std::atan2(0.0, a) * b;
                return complex_literal(size * std::cos(angle), size * std::sin(angle));
            }
            return real_literal(std::pow(a, b));
        default:
            return std::nullopt;
    }
}

/// Divides as CPython does, by the divisor's larger part (Smith, "Algorithm 116: Complex division", 1962).
Folded complex_quotient(const Literal& a, const Literal& b) {
    if (b.real == 0 && b.imaginary == 0) return std::nullopt;
    if (std::abs(b.real) >= std::abs(b.imaginary)) {
        const double ratio = b.imaginary / b.real, divisor = b.real + b.imaginary * ratio;
        return complex_literal((a.real + a.imaginary * ratio) / divisor,
                               (a.imaginary - a.real * ratio) / divisor);
    }
    const double ratio = b.real / b.imaginary, divisor = b.real * ratio + b.imaginary;
    return complex_literal((a.real * ratio + a.imaginary) / divisor,
                           (a.imaginary * ratio - a.real) / divisor);
}

/// Powers are left to the run time.
Folded fold_complex(Operator op, const Literal& a, const Literal& b) {
    switch (op) {
        case Operator::add:
            return complex_literal(a.real + b.real, a.imaginary + b.imaginary);
        case Operator::subtract:
            return complex_literal(a.real - b.real, a.imaginary - b.imaginary);
        case Operator::multiply:
            return complex_literal(a.real * b.real - a.imaginary * b.imaginary,
                                   a.real * b.imaginary + a.imaginary * b.real);
        case Operator::true_divide:
            return complex_quotient(a, b);
        default:
            return std::nullopt;
    }
}

Folded fold(const Expression& syntax);

Folded fold_unary(const Expression& syntax) {
    const Folded value = fold(syntax.operands[0]);
    if (!value || value->too_large) return value;
    switch (syntax.operators[0]) {
        case Operator::plus:
            return value->is_bool ? integer_literal(value->integer) : value;
        case Operator::negate:
            if (value->is_complex) return complex_literal(-value->real, -value->imaginary);
            return value->is_real ? real_literal(-value->real) : integer_literal(-value->integer);
        case Operator::invert:
            return value->is_real || value->is_complex ? std::nullopt
                                                       : Folded(integer_literal(~value->integer));
        case Operator::logical_not:
            return boolean_literal(value->integer == 0 && value->real == 0 && value->imaginary == 0);
        default:
            return std::nullopt;
    }
}

Folded fold_operation(Operator op, const Literal& a, const Literal& b) {
    if (a.too_large || b.too_large) return Literal{.too_large = true};
    const bool is_bit_operation =
        op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
    if (a.is_bool && b.is_bool && is_bit_operation)
        return boolean_literal(fold_integers(op, a.integer, b.integer)->integer != 0);
    if (a.is_complex || b.is_complex) {
        auto complex = [](const Literal& value) {
            return value.is_real || value.is_complex ? value
                                                     : real_literal(static_cast<double>(value.integer));
        };
        return fold_complex(op, complex(a), complex(b));
    }
    if (!a.is_real && !b.is_real) {
        if (const Folded value = fold_integers(op, a.integer, b.integer)) return value;
        if (op != Operator::true_divide && !(op == Operator::power && b.integer < 0)) return std::nullopt;
    }
    auto real = [](const Literal& value) {
        return value.is_real ? value.real : static_cast<double>(value.integer);
    };
    return fold_reals(op, real(a), real(b));
}

Folded fold_binary(const Expression& syntax) {
    const Folded a = fold(syntax.operands[0]);
    const Folded b = a ? fold(syntax.operands[1]) : std::nullopt;
    return a && b ? fold_operation(syntax.operators[0], *a, *b) : std::nullopt;
}

Folded fold(const Expression& syntax) {
    switch (syntax.kind) {
        case ExpressionKind::integer:
            return integer_literal(syntax.needs_unsigned
                                       ? static_cast<__int128>(static_cast<std::uint64_t>(syntax.integer))
                                       : static_cast<__int128>(syntax.integer));
        case ExpressionKind::boolean:
            return boolean_literal(syntax.integer != 0);
        case ExpressionKind::real:
            return real_literal(syntax.real);
        case ExpressionKind::imaginary:
            return complex_literal(0, syntax.real);
        case ExpressionKind::unary:
            return fold_unary(syntax);
        case ExpressionKind::binary:
            return fold_binary(syntax);
        default:
            return std::nullopt;
    }
}

}  // namespace

/// Numba's rule for Python integers: int64, uint64 where that is needed, else a TypingError.
std::optional<GlobalValue> fold_literals(const Expression& syntax) {
    const Folded folded = fold(syntax);
    if (!folded) return std::nullopt;
    if (folded->is_bool)
        return GlobalValue{.kind = GlobalKind::boolean,
                           .integer = static_cast<std::int64_t>(folded->integer)};
    if (folded->is_complex)
        return GlobalValue{.kind = GlobalKind::complex,
                           .type_name = "complex128",
                           .real = folded->real,
                           .imaginary = folded->imaginary};
    if (folded->is_real)
        return GlobalValue{.kind = GlobalKind::real, .type_name = "float64", .real = folded->real};
    constexpr __int128 low = std::numeric_limits<std::int64_t>::min(),
                       high = std::numeric_limits<std::int64_t>::max(),
                       highest = std::numeric_limits<std::uint64_t>::max();
    if (folded->too_large || folded->integer < low || folded->integer > highest) {
        refuse_typing("Int value is too large: it does not fit in 64 bits", syntax.location);
    }
    return GlobalValue{.kind = GlobalKind::integer,
                       .type_name = folded->integer > high ? "uint64" : "int64",
                       .integer = static_cast<std::int64_t>(folded->integer)};
}

namespace {

/// A number of Python's own types.
Folded literal_of(const GlobalValue& value) {
    if (value.kind == GlobalKind::boolean) return boolean_literal(value.integer != 0);
    if (value.kind == GlobalKind::real && value.type_name == "float64") return real_literal(value.real);
    if (value.kind != GlobalKind::integer) return std::nullopt;
    if (value.type_name == "uint64") return integer_literal(static_cast<std::uint64_t>(value.integer));
    return value.type_name == "int64" ? Folded(integer_literal(value.integer)) : std::nullopt;
}

}  // namespace

std::optional<bool> truth_of_operation(Operator op, const GlobalValue& left, const GlobalValue& right) {
    const Folded a = literal_of(left), b = literal_of(right);
    const Folded result = a && b ? fold_operation(op, *a, *b) : std::nullopt;
    if (!result) return std::nullopt;
    return result->too_large || result->integer != 0 || result->real != 0 || result->imaginary != 0;
}

namespace {

/// What CPython's compiler keeps as one constant.
bool is_constant(const Expression& syntax) {
    switch (syntax.kind) {
        case ExpressionKind::none:
        case ExpressionKind::bytes:
        case ExpressionKind::text:
        case ExpressionKind::ellipsis:
            return true;
        case ExpressionKind::tuple:
            return std::ranges::all_of(syntax.operands, is_constant);
        default:
            return fold(syntax).has_value();
    }
}

/// CPython leaves longer tuples to the run time (Python/ast_opt.c).
constexpr std::int64_t longest_folded_tuple = 256;

}  // namespace

std::optional<Expression> fold_repeated_tuple(const Expression& syntax) {
    if (syntax.kind != ExpressionKind::binary || syntax.operators[0] != Operator::multiply)
        return std::nullopt;
    const bool tuple_first = syntax.operands[0].kind == ExpressionKind::tuple;
    const Expression& tuple = syntax.operands[tuple_first ? 0 : 1];
    if (tuple.kind != ExpressionKind::tuple || !is_constant(tuple)) return std::nullopt;
    const Folded times = fold(syntax.operands[tuple_first ? 1 : 0]);
    if (!times || times->is_real || times->is_complex || times->too_large) return std::nullopt;
    const auto size = static_cast<std::int64_t>(tuple.operands.size());
    if (size != 0 && (times->integer < 0 || times->integer > longest_folded_tuple / size))
        return std::nullopt;
    Expression repeated = tuple;
    repeated.location = syntax.location;
    repeated.operands.clear();
    for (__int128 i = 0; size != 0 && i < times->integer; ++i)
        repeated.operands.insert(repeated.operands.end(), tuple.operands.begin(), tuple.operands.end());
    return repeated;
}

}  // namespace cudasim::pykernel
