// Arithmetic and conversions that round in a direction of their own: CUDA's __fadd_rd, __float2int_ru and
// their kind. Correctly rounded by the host's own instructions: for one operation the processor's rounding
// mode is another.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace cudasim::libdevice {

/// rd, rn (ties to even), ru, rz.
enum Rounding { down, nearest, up, zero };

// float and double
template <Rounding rounding, class T>
[[nodiscard]] T sum(T x, T y);
template <Rounding rounding, class T>
[[nodiscard]] T difference(T x, T y);
template <Rounding rounding, class T>
[[nodiscard]] T product(T x, T y);
template <Rounding rounding, class T>
[[nodiscard]] T quotient(T x, T y);
template <Rounding rounding, class T>
[[nodiscard]] T reciprocal(T x);
template <Rounding rounding, class T>
[[nodiscard]] T square_root(T x);
template <Rounding rounding, class T>
[[nodiscard]] T multiply_add(T x, T y, T z);
/// Converts a double to a float.
template <Rounding rounding>
[[nodiscard]] float narrowed(double x);
template <Rounding rounding, class Real, class Integer>
[[nodiscard]] Real from_integer(Integer x);

/// The integer beside x in the direction.
template <Rounding rounding, class Real>
[[nodiscard]] Real integral(Real x) {
    if constexpr (rounding == down) return std::floor(x);
    if constexpr (rounding == up) return std::ceil(x);
    if constexpr (rounding == zero) return std::trunc(x);
    return std::nearbyint(x);  // the host rounds to nearest
}

/// Converts as PTX's cvt does: values out of range saturate, and NaN gives 0, or 1 << (width - 1) where the
/// source is f64 or the target is 64 bits wide (PTX ISA, "cvt").
template <class Integer, class Real>
[[nodiscard]] Integer saturated_integer(Real x) {
    using Limits = std::numeric_limits<Integer>;
    if (std::isnan(x)) {
        if (sizeof(Real) == 4 && sizeof(Integer) == 4) return 0;
        return static_cast<Integer>(std::uint64_t{1} << (8 * sizeof(Integer) - 1));
    }
    if (x <= static_cast<Real>(Limits::min())) return Limits::min();
    if (x >= std::ldexp(Real(1), Limits::digits)) return Limits::max();
    return static_cast<Integer>(x);
}

template <Rounding rounding, class Integer, class Real>
[[nodiscard]] Integer to_integer(Real x) {
    return saturated_integer<Integer>(integral<rounding>(x));
}

}  // namespace cudasim::libdevice
