// Functions that the C library has not, or not within what CUDA allows (CUDA Programming Guide, appendix
// "Mathematical Functions"). Double forms compute in long double where the library's double form is off by
// more, float forms in double.
#pragma once

#include <cstdint>

#include "simulator/libdevice/rounding.h"

namespace cudasim::libdevice {

#define REAL_FUNCTION(name)              \
    [[nodiscard]] double name(double x); \
    [[nodiscard]] float name(float x);
#define REAL_FUNCTION_OF_ORDER(name)                     \
    [[nodiscard]] double name(std::int32_t n, double x); \
    [[nodiscard]] float name(std::int32_t n, float x);

REAL_FUNCTION(cube_root)
REAL_FUNCTION(reciprocal_cube_root)
REAL_FUNCTION(reciprocal_square_root)
REAL_FUNCTION(hyperbolic_cosine)
REAL_FUNCTION(hyperbolic_tangent)
REAL_FUNCTION(base_10_logarithm)
REAL_FUNCTION(base_10_exponential)
REAL_FUNCTION(gamma_function)
REAL_FUNCTION(log_gamma)
REAL_FUNCTION(sine_of_pi_times)
REAL_FUNCTION(cosine_of_pi_times)
REAL_FUNCTION(scaled_complementary_error_function)   // exp(x**2) erfc(x)
REAL_FUNCTION(inverse_error_function)                // x in [-1, 1]
REAL_FUNCTION(inverse_complementary_error_function)  // x in [0, 2]
REAL_FUNCTION(normal_distribution)                   // of mean 0 and deviation 1, up to x
REAL_FUNCTION(inverse_normal_distribution)           // x in [0, 1]
REAL_FUNCTION(bessel_j0)
REAL_FUNCTION(bessel_j1)
REAL_FUNCTION(bessel_y0)
REAL_FUNCTION(bessel_y1)
REAL_FUNCTION_OF_ORDER(bessel_jn)  // NaN for n < 0
REAL_FUNCTION_OF_ORDER(bessel_yn)
#undef REAL_FUNCTION
#undef REAL_FUNCTION_OF_ORDER

[[nodiscard]] double reciprocal_hypotenuse(double x, double y);
[[nodiscard]] float reciprocal_hypotenuse(float x, float y);
[[nodiscard]] double integer_power(double base, std::int32_t exponent);
[[nodiscard]] float integer_power(float base, std::int32_t exponent);
/// 2 to the power of y log2(x): NaN for x < 0, and wherever 0 meets an infinity, pow(0, 0) for example.
[[nodiscard]] float power_by_logarithm(float x, float y);
/// The product with a reciprocal that is 0 for divisors above 2^126.
[[nodiscard]] float quotient_by_reciprocal(float x, float y);

/// The unbiased exponent; for 0 and NaN the smallest integer, for infinity the largest.
template <class T>
[[nodiscard]] std::int32_t exponent_of(T x) {
    if (x == 0 || std::isnan(x)) return std::numeric_limits<std::int32_t>::min();
    return std::isinf(x) ? std::numeric_limits<std::int32_t>::max() : std::ilogb(x);
}
template <class T>
[[nodiscard]] std::int64_t nearest_integer(T x) {
    return to_integer<nearest, std::int64_t>(x);
}
/// Half way cases away from zero.
template <class Integer, class T>
[[nodiscard]] Integer rounded_integer(T x) {
    return saturated_integer<Integer>(std::round(x));
}

// Functions with several results. Compiled code gets each result by a call of its own, so there is a function
// for each part, too.

template <class T>
[[nodiscard]] std::int32_t exponent_part(T x) {
    int exponent = 0;
    (void)std::frexp(x, &exponent);
    return std::isfinite(x) ? exponent : 0;
}
template <class T>
[[nodiscard]] T mantissa_part(T x) {
    int exponent = 0;
    return std::frexp(x, &exponent);
}
template <class T>
[[nodiscard]] T mantissa_and_exponent(T x, std::int32_t* exponent) {
    *exponent = exponent_part(x);
    return mantissa_part(x);
}
/// Both have the sign of x.
template <class T>
[[nodiscard]] T fraction_and_whole(T x, T* whole) {
    return std::modf(x, whole);
}
/// The low three bits of the quotient, with its sign.
template <class T>
[[nodiscard]] std::int32_t quotient_part(T x, T y) {
    int quotient = 0;
    (void)std::remquo(x, y, &quotient);
    return std::isfinite(x) && !std::isnan(y) && y != 0 ? quotient % 8 : 0;
}
template <class T>
[[nodiscard]] T remainder_and_quotient(T x, T y, std::int32_t* quotient) {
    *quotient = quotient_part(x, y);
    return std::remainder(x, y);
}
template <class T>
void sine_and_cosine(T x, T* sine, T* cosine) {
    *sine = std::sin(x);
    *cosine = std::cos(x);
}
template <class T>
void sine_and_cosine_of_pi_times(T x, T* sine, T* cosine) {
    *sine = sine_of_pi_times(x);
    *cosine = cosine_of_pi_times(x);
}

}  // namespace cudasim::libdevice
