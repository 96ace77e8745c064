// Rounding to the short floating-point formats, the same bits on host and device: binary16, bfloat16 and
// those of 8, 6 and 4 bits. NaN results are those of a GPU: all bits of the magnitude set (PTX ISA,
// "Floating-Point Instructions").
#ifndef CUDASIM_FLOAT_FORMATS_H
#define CUDASIM_FLOAT_FORMATS_H

#include "../host_defines.h"

// nodebug: a finding inside is shown at the line that calls.
#if defined(__clang__)
#define CUDASIM_INLINE static __inline__ __attribute__((always_inline, unused, nodebug))
#define CUDASIM_MEMBER __attribute__((always_inline, nodebug)) __host__ __device__
// -ffast-math may not reorder what computes rounding errors.
#define CUDASIM_EXACT _Pragma("clang fp reassociate(off) contract(off)")
#else
#define CUDASIM_INLINE static __inline__ __attribute__((always_inline, unused))
#define CUDASIM_MEMBER __attribute__((always_inline)) __host__ __device__
#define CUDASIM_EXACT
#endif
#define CUDASIM_HOST_DEVICE CUDASIM_INLINE __host__ __device__
#define CUDASIM_DEVICE_ONLY CUDASIM_INLINE __device__

namespace cudasim {

enum class Rounding { nearest, zero, down, up };

CUDASIM_HOST_DEVICE unsigned float_bits(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
CUDASIM_HOST_DEVICE float float_of_bits(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
CUDASIM_HOST_DEVICE unsigned long long double_bits(double x) {
    unsigned long long bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
CUDASIM_HOST_DEVICE double double_of_bits(unsigned long long bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
CUDASIM_HOST_DEVICE bool is_nan(float x) {
    return (float_bits(x) & 0x7fffffffU) > 0x7f800000U;
}

// Rounds to float so that a second rounding to at most 22 bits gives what one rounding would: the last bit of
// an inexact result is odd, and no tie of the second rounding is.
CUDASIM_HOST_DEVICE float narrow_to_odd(double wide) {
    CUDASIM_EXACT
    const float narrow = static_cast<float>(wide);
    const double back = static_cast<double>(narrow);
    const unsigned bits = float_bits(narrow);
    const bool inexact = (back < wide || back > wide) && (bits & 1U) == 0;
    const bool larger = wide < 0 ? back < wide : back > wide;
    // The neighbour of zero has the sign of what was rounded.
    return float_of_bits(inexact ? (larger ? bits - 1 : bits + 1) : bits);
}

// x + y where the last bit of an inexact sum is odd. What the sum loses is found exactly (Knuth's two-sum).
CUDASIM_HOST_DEVICE float sum_to_odd(float x, float y) {
    CUDASIM_EXACT
    const float sum = x + y, rest = sum - x;
    const float lost = (x - (sum - rest)) + (y - rest);
    const unsigned bits = float_bits(sum);
    const bool inexact = (lost < 0 || lost > 0) && (bits & 1U) == 0;
    return float_of_bits(inexact ? ((lost > 0) == (sum > 0) ? bits + 1 : bits - 1) : bits);
}
CUDASIM_HOST_DEVICE double sum_to_odd(double x, double y) {
    CUDASIM_EXACT
    const double sum = x + y, rest = sum - x;
    const double lost = (x - (sum - rest)) + (y - rest);
    const unsigned long long bits = double_bits(sum);
    const bool inexact = (lost < 0 || lost > 0) && (bits & 1U) == 0;
    return double_of_bits(inexact ? ((lost > 0) == (sum > 0) ? bits + 1 : bits - 1) : bits);
}

// A format with a sign, `precision` bits of significand (the hidden one counts) and normal numbers from
// 2**lowest on. `infinity` is the pattern that follows the largest finite number.
template <int precision_, int lowest_, unsigned infinity_>
struct Format {
    static constexpr int precision = precision_, lowest = lowest_;
    static constexpr unsigned infinity = infinity_;
};
typedef Format<11, -14, 0x7c00U> HalfFormat;
typedef Format<8, -126, 0x7f80U> BfloatFormat;

// The pattern, without its sign, of significand * 2**exponent rounded as said. Too large numbers give
// To::infinity or the largest finite number.
template <class To>
CUDASIM_HOST_DEVICE unsigned rounded_magnitude(bool negative, unsigned long long significand, int exponent,
                                               Rounding rounding) {
    if (significand == 0) return 0;
    const int top = 63 - __builtin_clzll(significand) + exponent;
    const bool inward = rounding == Rounding::zero || rounding == (negative ? Rounding::up : Rounding::down);
    const int base = top < To::lowest ? To::lowest : top;
    const int shift = base - (To::precision - 1) - exponent;
    unsigned long long kept, rest = 0, half = 1;
    if (shift <= 0) {
        kept = significand << -shift;
    } else if (shift < 64) {
        kept = significand >> shift;
        rest = significand & ((1ULL << shift) - 1);
        half = 1ULL << (shift - 1);
    } else {
        kept = 0;
        rest = shift == 64 ? significand : 1;
        half = 1ULL << 63;
    }
    bool up = false;
    if (rounding == Rounding::nearest)
        up = rest > half || (rest == half && (kept & 1) != 0);
    else
        up = rest != 0 && !inward;
    kept += up;
    const unsigned long long pattern =
        (static_cast<unsigned long long>(base - To::lowest) << (To::precision - 1)) + kept;
    if (pattern < To::infinity) return static_cast<unsigned>(pattern);
    return inward ? To::infinity - 1 : To::infinity;
}

// The same of a double that is a number. Infinity stays, whatever the rounding.
template <class To>
CUDASIM_HOST_DEVICE unsigned rounded_magnitude(double x, Rounding rounding) {
    const unsigned long long bits = double_bits(x), fraction = bits & 0xfffffffffffffULL;
    const int biased = static_cast<int>(bits >> 52 & 0x7ff);
    if (biased == 0x7ff) return To::infinity;
    return rounded_magnitude<To>(bits >> 63 != 0, biased == 0 ? fraction : fraction | 1ULL << 52,
                                 (biased == 0 ? 1 : biased) - 1075, rounding);
}

// Patterns of 16 bits, rounded to nearest with ties to even, and their values.
template <class To>
struct Short;

template <>
struct Short<HalfFormat> {
    CUDASIM_MEMBER static unsigned short of(float x) {
#if defined(__CUDA_ARCH__)
        const unsigned short nan_bits = 0x7fff;
        _Float16 nan;
        __builtin_memcpy(&nan, &nan_bits, sizeof nan);
        const _Float16 rounded = x != x ? nan : static_cast<_Float16>(x);
        unsigned short bits;
        __builtin_memcpy(&bits, &rounded, sizeof bits);
        return bits;
#else
        const unsigned bits = float_bits(x), sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fffffffU;
        unsigned rounded;
        if (magnitude > 0x7f800000U)
            return 0x7fff;
        else if (magnitude >= 0x477ff000U)  // 65520, half way beyond the largest
            rounded = 0x7c00;
        else if (magnitude < 0x38800000U)  // 2**-14: adding 1/2 leaves multiples of 2**-24
            rounded = float_bits(float_of_bits(magnitude) + 0.5F) - 0x3f000000U;
        else
            rounded = (magnitude + 0xfff + (magnitude >> 13 & 1) - ((127U - 15U) << 23)) >> 13;
        return static_cast<unsigned short>(sign | rounded);
#endif
    }
    CUDASIM_MEMBER static float to(unsigned short bits) {
#if defined(__CUDA_ARCH__)
        _Float16 value;
        __builtin_memcpy(&value, &bits, sizeof value);
        return static_cast<float>(value);
#else
        const unsigned sign = (bits & 0x8000U) << 16, magnitude = bits & 0x7fffU;
        if (magnitude >= 0x7c00U) return float_of_bits(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
        if (magnitude < 0x400U)
            return float_of_bits(sign | float_bits(static_cast<float>(magnitude) * (1.0F / 16777216.0F)));
        return float_of_bits(sign | ((magnitude << 13) + ((127U - 15U) << 23)));
#endif
    }
    // The value as an instruction converts it: NaN is the one NaN.
    CUDASIM_MEMBER static float converted(unsigned short bits) {
        return (bits & 0x7fffU) > 0x7c00U ? float_of_bits(0x7fffffffU) : to(bits);
    }
    // The product of two is exact in float.
    CUDASIM_MEMBER static float multiply_add(float x, float y, float z) {
        CUDASIM_EXACT
        return sum_to_odd(x * y, z);
    }
};

template <>
struct Short<BfloatFormat> {
    CUDASIM_MEMBER static unsigned short of(float x) {
        const unsigned bits = float_bits(x);
        const unsigned rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
        return is_nan(x) ? 0x7fff : static_cast<unsigned short>(rounded);
    }
    CUDASIM_MEMBER static float to(unsigned short bits) {
        return float_of_bits(static_cast<unsigned>(bits) << 16);
    }
    CUDASIM_MEMBER static float converted(unsigned short bits) { return to(bits); }
    // The product of two is exact in double.
    CUDASIM_MEMBER static float multiply_add(float x, float y, float z) {
        CUDASIM_EXACT
        return narrow_to_odd(
            sum_to_odd(static_cast<double>(x) * static_cast<double>(y), static_cast<double>(z)));
    }
};

template <class To>
CUDASIM_HOST_DEVICE unsigned short short_of_double(double x, Rounding rounding) {
    if ((double_bits(x) & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL) return 0x7fff;
    const unsigned sign = static_cast<unsigned>(double_bits(x) >> 48) & 0x8000U;
    return static_cast<unsigned short>(sign | rounded_magnitude<To>(x, rounding));
}
template <class To, class Integer>
CUDASIM_HOST_DEVICE unsigned short short_of_integer(Integer x, Rounding rounding) {
    const bool negative = x < 0;
    const unsigned long long size =
        negative ? 0ULL - static_cast<unsigned long long>(x) : static_cast<unsigned long long>(x);
    return static_cast<unsigned short>((negative ? 0x8000U : 0U) |
                                       rounded_magnitude<To>(negative, size, 0, rounding));
}

// A float as an integer. Numbers outside saturate; NaN gives 0, and of 64 bits only the highest.
template <class Integer>
CUDASIM_HOST_DEVICE Integer integer_of(float x, Rounding rounding) {
    constexpr int bits = 8 * sizeof(Integer);
    constexpr bool is_signed = static_cast<Integer>(-1) < 0;
    constexpr unsigned long long last = is_signed ? (1ULL << (bits - 1)) - 1 : ~0ULL >> (64 - bits);
    constexpr Integer lowest = is_signed ? static_cast<Integer>(1ULL << (bits - 1)) : 0;
    constexpr float beyond = static_cast<float>(1ULL << (bits - 1)) * (is_signed ? 1 : 2);
    if (is_nan(x)) return bits == 64 ? static_cast<Integer>(1ULL << 63) : 0;
    float whole = x;
    if (rounding == Rounding::nearest)
        whole = __builtin_rintf(x);
    else if (rounding == Rounding::down)
        whole = __builtin_floorf(x);
    else if (rounding == Rounding::up)
        whole = __builtin_ceilf(x);
    if (whole >= beyond) return static_cast<Integer>(last);
    if (whole <= (is_signed ? -beyond : 0.0F)) return lowest;
    return static_cast<Integer>(whole);
}

}  // namespace cudasim

#endif
