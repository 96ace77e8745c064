// Numbers of 4 bits, e2m1; one alone lies in a byte (CUDA Math API, "FP4 Intrinsics").
#ifndef __CUDA_FP4_H__
#define __CUDA_FP4_H__

#include "cuda_fp8.h"

typedef __nv_fp8_storage_t __nv_fp4_storage_t;
typedef __nv_fp8_storage_t __nv_fp4x2_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp4x4_storage_t;
typedef enum __nv_fp4_interpretation_t { __NV_E2M1 } __nv_fp4_interpretation_t;

#if defined(__cplusplus)
#define __CUDA_FP4_TYPES_EXIST__

namespace cudasim {

// What is too large becomes the largest number, and so does NaN.
CUDASIM_HOST_DEVICE unsigned fp4_of(double x, __nv_fp4_interpretation_t, enum cudaRoundMode mode) {
    return is_nan(x) ? 0x7U : mini_of<E2m1Format>(x, rounding_of(mode), 0x8U, 0x7U);
}
CUDASIM_HOST_DEVICE float fp4_value(unsigned pattern, __nv_fp4_interpretation_t) {
    return float_of_bits((pattern & 0x8U) << 28 | float_bits(mini_value<E2m1Format>(pattern & 0x7U)));
}

}  // namespace cudasim

// clang-format off
#define CUDASIM_ONE_STORAGE __nv_fp4_storage_t
#define CUDASIM_TWO_STORAGE __nv_fp4x2_storage_t
#define CUDASIM_FOUR_STORAGE __nv_fp4x4_storage_t
#define CUDASIM_BITS 4
#if !defined(__CUDA_NO_FP4_CONVERSIONS__)
#define CUDASIM_WITH_CONSTRUCTORS 1
#if !defined(__CUDA_NO_FP4_CONVERSION_OPERATORS__)
#define CUDASIM_WITH_CONVERSIONS 1
#endif
#endif

#define CUDASIM_KIND fp4
#define CUDASIM_OPTIONS \
    const __nv_fp4_interpretation_t fp4_interpretation, const enum cudaRoundMode rounding
#define CUDASIM_INTERPRETATION __nv_fp4_interpretation_t
#define CUDASIM_PATTERN(value) cudasim::fp4_of(value, fp4_interpretation, rounding)
#define CUDASIM_FLOAT(pattern, interpretation) cudasim::fp4_value(pattern, interpretation)
#include "cudasim/mini_float_conversions.h"

#define CUDASIM_ONE __nv_fp4_e2m1
#define CUDASIM_TWO __nv_fp4x2_e2m1
#define CUDASIM_FOUR __nv_fp4x4_e2m1
#define CUDASIM_PATTERN(value) cudasim::fp4_of(value, __NV_E2M1, cudaRoundNearest)
#define CUDASIM_FLOAT(pattern) cudasim::fp4_value(pattern, __NV_E2M1)
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
