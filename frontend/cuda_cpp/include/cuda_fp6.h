// Numbers of 6 bits in bytes: e2m3 and e3m2 (CUDA Math API, "FP6 Intrinsics").
#ifndef __CUDA_FP6_H__
#define __CUDA_FP6_H__

#include "cuda_fp8.h"

typedef __nv_fp8_storage_t __nv_fp6_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp6x2_storage_t;
typedef __nv_fp8x4_storage_t __nv_fp6x4_storage_t;
typedef enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 } __nv_fp6_interpretation_t;

#if defined(__cplusplus)
#define __CUDA_FP6_TYPES_EXIST__

namespace cudasim {

// What is too large becomes the largest number, and so does NaN.
CUDASIM_HOST_DEVICE unsigned fp6_of(double x, __nv_fp6_interpretation_t kind, enum cudaRoundMode mode) {
    if (is_nan(x)) return 0x1fU;
    const Rounding rounding = rounding_of(mode);
    return kind == __NV_E2M3 ? mini_of<E2m3Format>(x, rounding, 0x20U, 0x1fU)
                             : mini_of<E3m2Format>(x, rounding, 0x20U, 0x1fU);
}
CUDASIM_HOST_DEVICE float fp6_value(unsigned pattern, __nv_fp6_interpretation_t kind) {
    const unsigned size = pattern & 0x1fU;
    const float value = kind == __NV_E2M3 ? mini_value<E2m3Format>(size) : mini_value<E3m2Format>(size);
    return float_of_bits((pattern & 0x20U) << 26 | float_bits(value));
}

}  // namespace cudasim

// clang-format off
#define CUDASIM_ONE_STORAGE __nv_fp6_storage_t
#define CUDASIM_TWO_STORAGE __nv_fp6x2_storage_t
#define CUDASIM_FOUR_STORAGE __nv_fp6x4_storage_t
#define CUDASIM_BITS 8
#if !defined(__CUDA_NO_FP6_CONVERSIONS__)
#define CUDASIM_WITH_CONSTRUCTORS 1
#if !defined(__CUDA_NO_FP6_CONVERSION_OPERATORS__)
#define CUDASIM_WITH_CONVERSIONS 1
#endif
#endif

#define CUDASIM_KIND fp6
#define CUDASIM_OPTIONS \
    const __nv_fp6_interpretation_t fp6_interpretation, const enum cudaRoundMode rounding
#define CUDASIM_INTERPRETATION __nv_fp6_interpretation_t
#define CUDASIM_PATTERN(value) cudasim::fp6_of(value, fp6_interpretation, rounding)
#define CUDASIM_FLOAT(pattern, interpretation) cudasim::fp6_value(pattern, interpretation)
#include "cudasim/mini_float_conversions.h"

#define CUDASIM_ONE __nv_fp6_e2m3
#define CUDASIM_TWO __nv_fp6x2_e2m3
#define CUDASIM_FOUR __nv_fp6x4_e2m3
#define CUDASIM_PATTERN(value) cudasim::fp6_of(value, __NV_E2M3, cudaRoundNearest)
#define CUDASIM_FLOAT(pattern) cudasim::fp6_value(pattern, __NV_E2M3)
#include "cudasim/mini_float_type.h"

#define CUDASIM_ONE __nv_fp6_e3m2
#define CUDASIM_TWO __nv_fp6x2_e3m2
#define CUDASIM_FOUR __nv_fp6x4_e3m2
#define CUDASIM_PATTERN(value) cudasim::fp6_of(value, __NV_E3M2, cudaRoundNearest)
#define CUDASIM_FLOAT(pattern) cudasim::fp6_value(pattern, __NV_E3M2)
#include "cudasim/mini_float_type.h"

#undef CUDASIM_ONE_STORAGE
#undef CUDASIM_TWO_STORAGE
#undef CUDASIM_FOUR_STORAGE
#undef CUDASIM_BITS
#undef CUDASIM_WITH_CONSTRUCTORS
#undef CUDASIM_WITH_CONVERSIONS
// clang-format on
#endif

#endif
