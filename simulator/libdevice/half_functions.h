// What half_functions.def's functions compute, on floats: numba.cuda.fp16 in Python mode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "simulator/libdevice/host_functions.h"

namespace cudasim::libdevice {

/// What a function does with its result before it is rounded to 16 bits.
enum class After {
    as_is,
    saturated,         ///< to [0, 1], NaN to 0
    not_negative,      ///< negative numbers and -0 to 0
    nan_of_arguments,  ///< NaN where an argument is NaN
};

/// Types of half_functions.def besides C++'s.
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

/// A double to the float16 in the direction (half_rounding.cpp). Gives its value.
[[nodiscard]] double rounded_to_half(double x, Rounding rounding);

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
