// Numbers of 8 bits: e4m3, e5m2 and the scales e8m0 (CUDA Math API, "FP8 Intrinsics").
#ifndef __CUDA_FP8_H__
#define __CUDA_FP8_H__

#include "cudasim/mini_floats.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

#if defined(__cplusplus)
#define __CUDA_FP8_TYPES_EXIST__

namespace cudasim {

CUDASIM_HOST_DEVICE unsigned fp8_of(double x, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
    const bool finite = saturation == __NV_SATFINITE;
    if (is_nan(x)) {
        const unsigned long long bits = double_bits(x);
        return static_cast<unsigned>(bits >> 56 & 0x80U) |
               (kind == __NV_E4M3 ? 0x7fU : 0x7eU | (bits >> 50 & 1U));
    }
    if (kind == __NV_E4M3) return mini_of<E4m3Format>(x, Rounding::nearest, 0x80U, finite ? 0x7eU : 0x7fU);
    return mini_of<E5m2Format>(x, Rounding::nearest, 0x80U, finite ? 0x7bU : 0x7cU);
}
CUDASIM_HOST_DEVICE float fp8_value(unsigned pattern, __nv_fp8_interpretation_t kind) {
    const unsigned size = pattern & 0x7fU, sign = (pattern & 0x80U) << 24;
    if (kind == __NV_E4M3)
        return size == 0x7fU ? float_of_bits(0x7fffffffU)
                             : float_of_bits(sign | float_bits(mini_value<E4m3Format>(size)));
    // The upper half of a binary16.
    return Short<HalfFormat>::converted(static_cast<unsigned short>(pattern << 8));
}

// A power of two, 2**(pattern - 127), of a number's size; NaN is 0xff. There is no zero.
CUDASIM_HOST_DEVICE unsigned e8m0_of(double x, __nv_saturation_t saturation, enum cudaRoundMode mode) {
    const unsigned long long bits = double_bits(x);
    if (is_nan(x)) return 0xffU;
    const bool up = mode == cudaRoundPosInf && (bits & 0xfffffffffffffULL) != 0;
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 + 127 + (up ? 1 : 0);
    if (exponent < 0) return 0;
    return exponent <= 254 ? static_cast<unsigned>(exponent) : saturation == __NV_SATFINITE ? 254U : 255U;
}
CUDASIM_HOST_DEVICE unsigned short e8m0_as_bfloat(unsigned pattern) {
    return static_cast<unsigned short>(pattern == 0xffU ? 0x7fffU : pattern == 0 ? 0x40U : pattern << 7);
}
CUDASIM_HOST_DEVICE float e8m0_value(unsigned pattern) {
    return Short<BfloatFormat>::to(e8m0_as_bfloat(pattern));
}

}  // namespace cudasim

// clang-format off
#define CUDASIM_ONE_STORAGE __nv_fp8_storage_t
#define CUDASIM_TWO_STORAGE __nv_fp8x2_storage_t
#define CUDASIM_FOUR_STORAGE __nv_fp8x4_storage_t
#define CUDASIM_BITS 8
#if !defined(__CUDA_NO_FP8_CONVERSIONS__)
#define CUDASIM_WITH_CONSTRUCTORS 1
#if !defined(__CUDA_NO_FP8_CONVERSION_OPERATORS__)
#define CUDASIM_WITH_CONVERSIONS 1
#endif
#endif

#define CUDASIM_KIND fp8
#define CUDASIM_OPTIONS const __nv_saturation_t saturate, const __nv_fp8_interpretation_t fp8_interpretation
#define CUDASIM_INTERPRETATION __nv_fp8_interpretation_t
#define CUDASIM_PATTERN(value) cudasim::fp8_of(value, saturate, fp8_interpretation)
#define CUDASIM_FLOAT(pattern, interpretation) cudasim::fp8_value(pattern, interpretation)
#include "cudasim/mini_float_conversions.h"

#define CUDASIM_ONE __nv_fp8_e4m3
#define CUDASIM_TWO __nv_fp8x2_e4m3
#define CUDASIM_FOUR __nv_fp8x4_e4m3
#define CUDASIM_PATTERN(value) cudasim::fp8_of(value, __NV_SATFINITE, __NV_E4M3)
#define CUDASIM_FLOAT(pattern) cudasim::fp8_value(pattern, __NV_E4M3)
#include "cudasim/mini_float_type.h"

#define CUDASIM_ONE __nv_fp8_e5m2
#define CUDASIM_TWO __nv_fp8x2_e5m2
#define CUDASIM_FOUR __nv_fp8x4_e5m2
#define CUDASIM_PATTERN(value) cudasim::fp8_of(value, __NV_SATFINITE, __NV_E5M2)
#define CUDASIM_FLOAT(pattern) cudasim::fp8_value(pattern, __NV_E5M2)
#include "cudasim/mini_float_type.h"

#define CUDASIM_ONE __nv_fp8_e8m0
#define CUDASIM_TWO __nv_fp8x2_e8m0
#define CUDASIM_FOUR __nv_fp8x4_e8m0
#define CUDASIM_PATTERN(value) cudasim::e8m0_of(value, __NV_SATFINITE, cudaRoundPosInf)
#define CUDASIM_FLOAT(pattern) cudasim::e8m0_value(pattern)
#define CUDASIM_WITH_PAIR_OF_BFLOATS 1
#include "cudasim/mini_float_type.h"
#undef CUDASIM_WITH_PAIR_OF_BFLOATS
// clang-format on

#define CUDASIM_TO_SCALE(from, type, value)                                                  \
    CUDASIM_HOST_DEVICE __nv_fp8_storage_t __nv_cvt_##from##_to_e8m0(                        \
        const type x, const __nv_saturation_t saturate, const enum cudaRoundMode rounding) { \
        return static_cast<__nv_fp8_storage_t>(cudasim::e8m0_of(value, saturate, rounding)); \
    }
#define CUDASIM_TO_SCALES(from, type, low, high)                                                   \
    CUDASIM_HOST_DEVICE __nv_fp8x2_storage_t __nv_cvt_##from##_to_e8m0x2(                          \
        const type x, const __nv_saturation_t saturate, const enum cudaRoundMode rounding) {       \
        return static_cast<__nv_fp8x2_storage_t>(cudasim::e8m0_of(low, saturate, rounding) |       \
                                                 cudasim::e8m0_of(high, saturate, rounding) << 8); \
    }
CUDASIM_TO_SCALE(bfloat16raw, __nv_bfloat16_raw, cudasim::double_of(x))
CUDASIM_TO_SCALE(float, float, static_cast<double>(x))
CUDASIM_TO_SCALE(double, double, x)
CUDASIM_TO_SCALES(bfloat162raw, __nv_bfloat162_raw, cudasim::double_of(cudasim::low_half(x)),
                  cudasim::double_of(cudasim::high_half(x)))
CUDASIM_TO_SCALES(float2, float2, static_cast<double>(x.x), static_cast<double>(x.y))
CUDASIM_TO_SCALES(double2, double2, x.x, x.y)
#undef CUDASIM_TO_SCALE
#undef CUDASIM_TO_SCALES

CUDASIM_HOST_DEVICE __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(const __nv_fp8_storage_t x) {
    __nv_bfloat16_raw raw;
    raw.x = cudasim::e8m0_as_bfloat(x);
    return raw;
}
CUDASIM_HOST_DEVICE __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(const __nv_fp8x2_storage_t x) {
    __nv_bfloat162_raw raw;
    raw.x = cudasim::e8m0_as_bfloat(x & 0xffU);
    raw.y = cudasim::e8m0_as_bfloat(static_cast<unsigned>(x) >> 8);
    return raw;
}

#undef CUDASIM_ONE_STORAGE
#undef CUDASIM_TWO_STORAGE
#undef CUDASIM_FOUR_STORAGE
#undef CUDASIM_BITS
#undef CUDASIM_WITH_CONSTRUCTORS
#undef CUDASIM_WITH_CONVERSIONS
#endif

#endif
