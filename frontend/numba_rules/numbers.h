// Numba's rules for numbers, as data: how good a conversion is, which overload an operator takes, which type
// two types become where control flow joins. frontend/pykernel types kernels by these tables,
// frontend/pyfiber (Python mode) computes by them, so that both modes agree.
//
// The rules are facts about Numba 0.68 and numba-cuda 0.30, read off its typing context and pinned against
// Numba's CUDA target by tests/frontend.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

namespace cudasim::numba_rules {

enum class Number : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    bfloat16,
    float16,
    float32,
    float64,
    complex64,
    complex128,
    none  ///< no number: what an operator gives where no overload fits
};
inline constexpr std::size_t number_count = static_cast<std::size_t>(Number::none);

[[nodiscard]] constexpr bool is_integer(Number n) {
    return n >= Number::int8 && n <= Number::uint64;
}
[[nodiscard]] constexpr bool is_unsigned(Number n) {
    return n >= Number::uint8 && n <= Number::uint64;
}
/// A real floating-point number other than bfloat16, which has rules of its own.
[[nodiscard]] constexpr bool is_floating(Number n) {
    return n >= Number::float16 && n <= Number::float64;
}
[[nodiscard]] constexpr bool is_complex(Number n) {
    return n == Number::complex64 || n == Number::complex128;
}
/// Indexed by Number; of both components of a complex number together.
inline constexpr std::array<unsigned, number_count + 1> number_bits{8,  8,  16, 32, 64, 8,  16,  32,
                                                                    64, 16, 16, 32, 64, 64, 128, 0};
[[nodiscard]] constexpr unsigned bits(Number n) {
    return number_bits[static_cast<std::size_t>(n)];
}

/// Kinds of conversions, from best to worst as Numba ranks them.
enum class Conversion { exact, promote, safe, unsafe, none };

/// Numba ranks the conversion of an 8-bit integer to bfloat16 high, and then cannot do it.
[[nodiscard]] constexpr bool lacks_cast(Number from, Number to) {
    return to == Number::bfloat16 && is_integer(from) && bits(from) == 8;
}

[[nodiscard]] constexpr Conversion conversion(Number from, Number to) {
    using enum Conversion;
    if (from == Number::none || to == Number::none) return none;
    if (from == to) return exact;
    const bool short_integer =
        is_integer(from) && (bits(from) == 8 || (bits(from) == 16 && !is_unsigned(from)));
    if (is_complex(to)) {
        if (is_complex(from)) return bits(from) < bits(to) ? promote : unsafe;
        if (from == Number::bfloat16) return none;
        if (to == Number::complex128 || from == Number::boolean) return safe;
        return (is_floating(from) ? bits(from) <= 32 : short_integer) ? safe : unsafe;
    }
    if (is_complex(from)) return none;
    if (from == Number::bfloat16 || to == Number::bfloat16) {
        // There is no conversion between bfloat16 and float16, nor between bfloat16 and booleans.
        const Number other = from == Number::bfloat16 ? to : from;
        if (other == Number::boolean) return none;
        if (other == from) return lacks_cast(from, to) ? safe : unsafe;
        if (is_integer(other)) return unsafe;
        return other == Number::float16 ? none : promote;
    }
    if (from == Number::boolean) return safe;
    if (to == Number::boolean) return unsafe;
    if (is_floating(from)) return is_floating(to) && bits(to) > bits(from) ? promote : unsafe;
    if (to == Number::float64) return safe;
    if (to == Number::float32) return short_integer ? safe : unsafe;
    if (to == Number::float16) return from == Number::int8 ? safe : unsafe;
    if (bits(to) <= bits(from)) return unsafe;
    if (is_unsigned(from) == is_unsigned(to)) return promote;
    return is_unsigned(to) ? unsafe : safe;
}

/// The type of a variable that is `a` on one path and `b` on another, and of min() and max() of both.
[[nodiscard]] constexpr Number unified(Number a, Number b) {
    if (conversion(a, b) <= Conversion::safe) return b;
    if (conversion(b, a) <= Conversion::safe) return a;
    auto either = [&](auto&& predicate) { return predicate(a) || predicate(b); };
    if (either([](Number n) { return n == Number::bfloat16; })) {
        const Number other = a == Number::bfloat16 ? b : a;
        return conversion(other, Number::float32) <= Conversion::safe ? Number::float32 : Number::float64;
    }
    // Neither type holds the values of the other, so NumPy's promotion applies.
    if (either(is_complex)) {
        const Number complex = is_complex(a) ? a : b, other = is_complex(a) ? b : a;
        return bits(other) <= 16 ? complex : Number::complex128;
    }
    if (either(is_floating)) {
        const Number real = is_floating(a) ? a : b, other = is_floating(a) ? b : a;
        if (bits(real) == 16 && bits(other) == 8) return real;
        return bits(other) <= 16 ? Number::float32 : Number::float64;
    }
    switch (std::max(bits(a), bits(b))) {
        case 8:
            return Number::int16;
        case 16:
            return Number::int32;
        case 32:
            return Number::int64;
        default:
            return Number::float64;
    }
}

/// What an operator converts its operands to, and what it gives.
template <std::size_t operands>
struct Overload {
    std::array<Number, operands> parameters;
    Number result;
};
using Binary = Overload<2>;
using Unary = Overload<1>;

/// The candidate with the fewest unsafe, then safe, then promoting conversions; the first of
/// equals. Null when none fits.
/// @param rate the Conversion from an argument to a parameter
template <typename Candidate, typename Argument, typename Rate>
[[nodiscard]] constexpr const Candidate* best_overload(std::span<const Candidate> candidates,
                                                       std::span<const Argument> arguments, Rate rate) {
    using Rating = std::tuple<int, int, int>;
    const Candidate* best = nullptr;
    Rating best_rating;
    for (const Candidate& candidate : candidates) {
        if (candidate.parameters.size() != arguments.size()) continue;
        std::array<int, 5> count{};
        for (std::size_t i = 0; i < arguments.size(); ++i)
            ++count[static_cast<std::size_t>(rate(arguments[i], candidate.parameters[i]))];
        auto number_of = [&](Conversion step) { return count[static_cast<std::size_t>(step)]; };
        if (number_of(Conversion::none) != 0) continue;
        const Rating rating{number_of(Conversion::unsafe), number_of(Conversion::safe),
                            number_of(Conversion::promote)};
        if (!best || rating < best_rating) {
            best = &candidate;
            best_rating = rating;
        }
    }
    return best;
}

namespace detail {

template <typename T, std::size_t... sizes>
[[nodiscard]] constexpr auto joined(const std::array<T, sizes>&... parts) {
    std::array<T, (sizes + ...)> result{};
    auto out = result.begin();
    ((out = std::copy(parts.begin(), parts.end(), out)), ...);
    return result;
}
template <std::size_t operands, std::size_t count>
[[nodiscard]] constexpr auto of_one_type(const std::array<Number, count>& types,
                                         Number result = Number::none) {
    std::array<Overload<operands>, count> overloads{};
    for (std::size_t i = 0; i < count; ++i) {
        overloads[i].parameters.fill(types[i]);
        overloads[i].result = result == Number::none ? types[i] : result;
    }
    return overloads;
}

using enum Number;
inline constexpr auto integers = std::to_array<Binary>({{{int64, int64}, int64},
                                                        {{int64, uint64}, int64},
                                                        {{uint64, int64}, int64},
                                                        {{uint64, uint64}, uint64}});
inline constexpr auto short_floats = of_one_type<2>(std::array{float16, bfloat16});
inline constexpr auto floats = of_one_type<2>(std::array{float32, float64});
inline constexpr auto complexes = of_one_type<2>(std::array{complex64, complex128});
inline constexpr auto real_types = std::array{boolean, int8,   int16,   int32,    int64,   uint8,  uint16,
                                              uint32,  uint64, float16, bfloat16, float32, float64};

}  // namespace detail

// The overloads of operators, in Numba's order.

/// +, -, *
inline constexpr auto arithmetic =
    detail::joined(detail::integers, detail::short_floats, detail::floats, detail::complexes);
/// //, %
inline constexpr auto floored = detail::joined(detail::integers, detail::floats);
/// /
inline constexpr auto division = [] {
    auto overloads = arithmetic;
    for (Binary& overload : overloads)
        if (is_integer(overload.result)) overload.result = Number::float64;
    return overloads;
}();
/// **
inline constexpr auto power = [] {
    using enum Number;
    constexpr auto with_whole_exponent = std::to_array<Binary>({{{float32, int32}, float32},
                                                                {{float32, int64}, float32},
                                                                {{float32, uint64}, float32},
                                                                {{float64, int32}, float64},
                                                                {{float64, int64}, float64},
                                                                {{float64, uint64}, float64}});
    return detail::joined(detail::integers, with_whole_exponent, detail::floats, detail::complexes);
}();
/// &, |, ^
inline constexpr auto bitwise =
    detail::joined(detail::of_one_type<2>(std::array{Number::boolean}), detail::integers);
/// <<, >>
inline constexpr auto shift = [] {
    using enum Number;
    return std::to_array<Binary>({{{int64, int64}, int64},
                                  {{int64, uint64}, int64},
                                  {{uint64, int64}, uint64},
                                  {{uint64, uint64}, uint64}});
}();
/// <, <=, >, >=
inline constexpr auto comparison = detail::of_one_type<2>(detail::real_types, Number::boolean);
/// ==, !=, is, is not
inline constexpr auto equality = detail::joined(
    comparison, detail::of_one_type<2>(std::array{Number::complex64, Number::complex128}, Number::boolean));
/// The type of unary + and -.
inline constexpr auto sign = [] {
    using enum Number;
    return detail::of_one_type<1>(
        std::array{int64, uint64, float32, float64, float16, bfloat16, complex64, complex128});
}();
/// ~
inline constexpr auto invert =
    detail::of_one_type<1>(std::array{Number::boolean, Number::int64, Number::uint64});

/// The best overload of an operator for each pair of operand types.
class PairTable {
  public:
    explicit constexpr PairTable(std::span<const Binary> overloads) : overloads_(overloads) {
        for (std::size_t left = 0; left < number_count; ++left) {
            for (std::size_t right = 0; right < number_count; ++right) {
                const std::array arguments{static_cast<Number>(left), static_cast<Number>(right)};
                const Binary* best = best_overload<Binary, Number>(overloads, arguments, &conversion);
                cells_[left][right] = best ? static_cast<std::int8_t>(best - overloads.data()) : no_overload;
            }
        }
    }
    [[nodiscard]] constexpr std::span<const Binary> overloads() const { return overloads_; }
    /// Its place in overloads(); nullopt where none fits. Neither type may be Number::none.
    [[nodiscard]] constexpr std::optional<std::size_t> best(Number left, Number right) const {
        const std::int8_t cell = cells_[static_cast<std::size_t>(left)][static_cast<std::size_t>(right)];
        return cell == no_overload ? std::nullopt : std::optional(static_cast<std::size_t>(cell));
    }
    /// What the operator gives; Number::none where no overload fits.
    [[nodiscard]] constexpr Number result(Number left, Number right) const {
        const auto found = best(left, right);
        return found ? overloads_[*found].result : Number::none;
    }
    /// What it converts its left operand to.
    [[nodiscard]] constexpr Number left_operand(Number left, Number right) const {
        const auto found = best(left, right);
        return found ? overloads_[*found].parameters[0] : Number::none;
    }

  private:
    static constexpr std::int8_t no_overload = -1;
    std::span<const Binary> overloads_;
    std::array<std::array<std::int8_t, number_count>, number_count> cells_{};
};

inline constexpr PairTable arithmetic_table(arithmetic), floored_table(floored), division_table(division),
    power_table(power), bitwise_table(bitwise), shift_table(shift), comparison_table(comparison),
    equality_table(equality);

}  // namespace cudasim::numba_rules
