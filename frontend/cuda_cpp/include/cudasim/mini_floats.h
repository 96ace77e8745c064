// Rounding to floating-point formats of 8, 6 and 4 bits and their values (CUDA Math API, "FP8", "FP6" and
// "FP4 Conversion and Data Movement").
#ifndef CUDASIM_MINI_FLOATS_H
#define CUDASIM_MINI_FLOATS_H

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "../device_types.h"
#include "../vector_functions.h"
#include "../vector_types.h"

#if defined(__cplusplus)
#include "short_floats.h"

namespace cudasim {

// Of OCP's formats of 8 bits e5m2 has infinity; e4m3 has one NaN only, and the smaller ones nothing but
// numbers. As `infinity` stands what follows the largest number.
typedef Format<4, -6, 0x7fU> E4m3Format;
typedef Format<3, -14, 0x7cU> E5m2Format;
typedef Format<4, 0, 0x20U> E2m3Format;
typedef Format<3, -2, 0x20U> E3m2Format;
typedef Format<2, 0, 0x8U> E2m1Format;

CUDASIM_HOST_DEVICE bool is_nan(double x) {
    return (double_bits(x) & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL;
}
CUDASIM_HOST_DEVICE Rounding rounding_of(enum cudaRoundMode mode) {
    return mode == cudaRoundNearest  ? Rounding::nearest
           : mode == cudaRoundZero   ? Rounding::zero
           : mode == cudaRoundPosInf ? Rounding::up
                                     : Rounding::down;
}

// What is too large, infinity also, becomes `overflow`, without its sign.
template <class To>
CUDASIM_HOST_DEVICE unsigned mini_of(double x, Rounding rounding, unsigned sign_bit, unsigned overflow) {
    const unsigned size = rounded_magnitude<To>(x, rounding);
    return (double_bits(x) >> 63 != 0 ? sign_bit : 0U) | (size < To::infinity ? size : overflow);
}

// Of a number's pattern without sign.
template <class To>
CUDASIM_HOST_DEVICE float mini_value(unsigned size) {
    constexpr int fraction_bits = To::precision - 1;
    const unsigned exponent = size >> fraction_bits, fraction = size & ((1U << fraction_bits) - 1);
    constexpr int lowest = To::lowest;
    const float unit = float_of_bits(static_cast<unsigned>(127 + lowest - fraction_bits) << 23);
    if (exponent == 0) return static_cast<float>(fraction) * unit;
    return float_of_bits((exponent - 1 + static_cast<unsigned>(127 + lowest)) << 23 |
                         fraction << (23 - fraction_bits));
}

// Of a NaN only a double keeps the sign and the first bits: those of other types are one NaN.
template <class T>
CUDASIM_HOST_DEVICE double widened(T x) {
    return static_cast<double>(x);
}
CUDASIM_HOST_DEVICE double widened(float x) {
    return is_nan(x) ? double_of_bits(0x7fffffffffffffffULL) : static_cast<double>(x);
}
CUDASIM_HOST_DEVICE double double_of(__half_raw x) {
    return widened(Short<HalfFormat>::to(x.x));
}
CUDASIM_HOST_DEVICE double double_of(__nv_bfloat16_raw x) {
    return widened(Short<BfloatFormat>::to(x.x));
}
CUDASIM_HOST_DEVICE __half_raw raw_half(float x) {
    __half_raw raw;
    raw.x = Short<HalfFormat>::of(x);
    return raw;
}
CUDASIM_HOST_DEVICE __half_raw low_half(__half2_raw x) {
    __half_raw raw;
    raw.x = x.x;
    return raw;
}
CUDASIM_HOST_DEVICE __half_raw high_half(__half2_raw x) {
    __half_raw raw;
    raw.x = x.y;
    return raw;
}
CUDASIM_HOST_DEVICE __nv_bfloat16_raw low_half(__nv_bfloat162_raw x) {
    __nv_bfloat16_raw raw;
    raw.x = x.x;
    return raw;
}
CUDASIM_HOST_DEVICE __nv_bfloat16_raw high_half(__nv_bfloat162_raw x) {
    __nv_bfloat16_raw raw;
    raw.x = x.y;
    return raw;
}
CUDASIM_HOST_DEVICE __half2_raw raw_pair(__half_raw low, __half_raw high) {
    __half2_raw raw;
    raw.x = low.x;
    raw.y = high.x;
    return raw;
}

}  // namespace cudasim
#endif

#endif
