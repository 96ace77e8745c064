// What half_functions.def's functions compute, on floats: numba.cuda.fp16 and numba.cuda.bf16 in Python mode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "simulator/libdevice/host_functions.h"

namespace cudasim::libdevice {

/// A binary floating-point format.
struct Format {
    int precision;   ///< bits of the significand, with the hidden one
    int lowest;      ///< exponent of the smallest normal number
    double largest;  ///< finite
};
constexpr Format half_format{11, -14, 65504}, bfloat_format{8, -126, 0x1.fep127};

/// What a function does with its result before it is rounded to 16 bits.
enum class After {
    as_is,
    saturated,         ///< to [0, 1], NaN to 0
    not_negative,      ///< negative numbers and -0 to 0
    nan_of_arguments,  ///< NaN where an argument is NaN
};

/// Type of half_functions.def besides C++'s.
struct half;

template <class T>
[[nodiscard]] T finished(After after, T value, bool has_nan) {
    switch (after) {
        case After::saturated:
            return value > 0 ? std::min(value, T(1)) : T(0);
        case After::not_negative:
            return value <= 0 ? T(0) : value;
        case After::nan_of_arguments:
            return has_nan ? std::numeric_limits<T>::quiet_NaN() : value;
        default:
            return value;
    }
}

/// A double to the format, in the direction (half_rounding.cpp). Gives its value.
[[nodiscard]] double rounded_to(const Format& format, double x, Rounding rounding);

/// x * y + z of numbers of 16 bits for a second rounding to as many: what a double does not hold is brought
/// there with an odd last bit, which no tie has. The product is exact; what the sum loses is known exactly
/// too (Knuth's two-sum).
[[nodiscard]] double multiply_add_odd(double x, double y, double z);

/// An integer as a double for a second rounding to 16 bits: of large ones what lies below the last bits
/// becomes one bit.
template <class Integer>
[[nodiscard]] double sticky_double(Integer x) {
    constexpr Integer exact = Integer(1) << 53, last = 0xfff;
    const bool fits = x < exact && (std::is_unsigned_v<Integer> || x > -exact);
    return static_cast<double>(fits ? x : static_cast<Integer>((x & ~last) | (x & last ? 0x800 : 0)));
}

/// Ordered comparisons are false, unordered ones true where a number is NaN.
enum class Comparison { OEQ, ONE, OGE, OGT, OLE, OLT, UEQ, UNE, UGE, UGT, ULE, ULT };
[[nodiscard]] bool compares(Comparison how, double x, double y);

/// Saturates to the range of a type that is narrower than what it converts from.
template <class Narrow, class Wide>
[[nodiscard]] Narrow clamped(Wide x) {
    using Limits = std::numeric_limits<Narrow>;
    return static_cast<Narrow>(
        std::clamp(x, static_cast<Wide>(Limits::min()), static_cast<Wide>(Limits::max())));
}

}  // namespace cudasim::libdevice
