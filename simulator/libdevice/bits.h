// Integers, bits and comparisons of libdevice: exact on every host.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cudasim::libdevice {

template <class T>
[[nodiscard]] T smaller(T x, T y) {
    return x < y ? x : y;
}
template <class T>
[[nodiscard]] T larger(T x, T y) {
    return x > y ? x : y;
}
/// The absolute value; the smallest integer stays what it is.
template <class T>
[[nodiscard]] T absolute(T x) {
    using Bits = std::make_unsigned_t<T>;
    return x < 0 ? static_cast<T>(Bits{0} - static_cast<Bits>(x)) : x;
}
template <class T>
[[nodiscard]] T reversed_bits(T x) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) result |= (x >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
}
template <class T>
[[nodiscard]] std::int32_t set_bits(T x) {
    return std::popcount(static_cast<std::make_unsigned_t<T>>(x));
}
template <class T>
[[nodiscard]] std::int32_t leading_zero_bits(T x) {
    return std::countl_zero(static_cast<std::make_unsigned_t<T>>(x));
}
/// Its number from 1; 0 when there is none.
template <class T>
[[nodiscard]] std::int32_t first_set_bit(T x) {
    return x == 0 ? 0 : 1 + std::countr_zero(static_cast<std::make_unsigned_t<T>>(x));
}
/// __byte_perm: byte i of the result is the byte of x (0 to 3) or y (4 to 7) that bits 4i to 4i+2 of the
/// selector name.
[[nodiscard]] inline std::uint32_t picked_bytes(std::uint32_t x, std::uint32_t y, std::uint32_t selector) {
    const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned byte = selector >> (4 * i) & 7;
        result |= static_cast<std::uint32_t>(bytes >> (8 * byte) & 0xff) << (8 * i);
    }
    return result;
}
/// (x + y) / 2 rounded down, without overflow.
template <class T>
[[nodiscard]] T average_down(T x, T y) {
    return static_cast<T>((static_cast<std::int64_t>(x) + static_cast<std::int64_t>(y)) >> 1);
}
/// (x + y + 1) / 2 rounded down, without overflow.
template <class T>
[[nodiscard]] T average_up(T x, T y) {
    return static_cast<T>((static_cast<std::int64_t>(x) + static_cast<std::int64_t>(y) + 1) >> 1);
}
/// The low 32 bits of the product of the low 24 bits.
template <class T>
[[nodiscard]] T product_of_24_bits(T x, T y) {
    auto low = [](T value) {
        return static_cast<std::int64_t>(static_cast<T>(static_cast<std::uint32_t>(value) << 8) >> 8);
    };
    return static_cast<T>(low(x) * low(y));
}
/// The high half of the product.
template <class T>
[[nodiscard]] T high_product(T x, T y) {
    if constexpr (sizeof(T) == 4) {
        using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
        return static_cast<T>((Wide{x} * Wide{y}) >> 32);
    } else {
        __extension__ using Signed = __int128;
        __extension__ using Unsigned = unsigned __int128;
        using Wide = std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>;
        return static_cast<T>((Wide{x} * Wide{y}) >> 64);
    }
}
/// |x - y| + z, modulo 2**32.
template <class T, class Sum>
[[nodiscard]] Sum sum_of_difference(T x, T y, Sum z) {
    const auto a = static_cast<std::uint32_t>(x), b = static_cast<std::uint32_t>(y);
    return static_cast<Sum>((x < y ? b - a : a - b) + static_cast<std::uint32_t>(z));
}

[[nodiscard]] inline std::int32_t high_word(double x) {
    return static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(x) >> 32);
}
[[nodiscard]] inline std::int32_t low_word(double x) {
    return static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(x));
}
[[nodiscard]] inline double double_of_words(std::int32_t high, std::int32_t low) {
    return std::bit_cast<double>(std::uint64_t{static_cast<std::uint32_t>(high)} << 32 |
                                 static_cast<std::uint32_t>(low));
}
template <class To, class From>
[[nodiscard]] To same_bits_as(From x) {
    return std::bit_cast<To>(x);
}

/// PTX's min and max: a NaN loses against a number, -0 is less than +0.
template <class T>
[[nodiscard]] T smaller_number(T x, T y) {
    if (x == y) return std::signbit(x) ? x : y;
    return x < y || std::isnan(y) ? x : y;
}
template <class T>
[[nodiscard]] T larger_number(T x, T y) {
    if (x == y) return std::signbit(x) ? y : x;
    return x > y || std::isnan(y) ? x : y;
}
template <class T>
[[nodiscard]] std::int32_t is_nan(T x) {
    return std::isnan(x);
}
template <class T>
[[nodiscard]] std::int32_t is_infinite(T x) {
    return std::isinf(x);
}
template <class T>
[[nodiscard]] std::int32_t is_finite(T x) {
    return std::isfinite(x);
}
template <class T>
[[nodiscard]] std::int32_t is_negative(T x) {
    return std::signbit(x);
}
/// Clamps to [0, 1]; NaN gives 0.
[[nodiscard]] inline float clamped_to_one(float x) {
    return x > 0 ? (x > 1 ? 1 : x) : 0;
}

/// The bits of the IEEE binary16 (half.cpp). Rounds to nearest; NaN gives PTX's canonical one.
[[nodiscard]] std::uint32_t half_of(float x);
/// The float16 that the low 16 bits are.
[[nodiscard]] float float_of_half(std::uint32_t bits);
[[nodiscard]] inline std::uint16_t half_bits(float x) {
    return static_cast<std::uint16_t>(half_of(x));
}
[[nodiscard]] inline float float_of_half_bits(std::uint16_t bits) {
    return float_of_half(bits);
}

}  // namespace cudasim::libdevice
