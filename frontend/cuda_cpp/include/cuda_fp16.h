// Numbers of 16 bits, IEEE 754's binary16 (CUDA Math API, "Half Precision Intrinsics").
#ifndef __CUDA_FP16_H__
#define __CUDA_FP16_H__

#include "vector_functions.h"
#include "vector_types.h"

typedef struct __align__(2) {
    unsigned short x;
} __half_raw;
typedef struct __align__(4) {
    unsigned short x;
    unsigned short y;
} __half2_raw;

#if defined(__cplusplus)
#define __CUDA_FP16_TYPES_EXIST__

#include "cudasim/short_floats.h"

#define CUDASIM_SHORT __half
#define CUDASIM_PAIR __half2
#define CUDASIM_RAW __half_raw
#define CUDASIM_RAW_PAIR __half2_raw
#define CUDASIM_OTHER __nv_bfloat16
#define CUDASIM_FORMAT cudasim::HalfFormat
#define CUDASIM_WORD half
#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
#define CUDASIM_WITH_CONVERSIONS 1
#endif
#if defined(__CUDA_FP16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__)
#define CUDASIM_WITHOUT_INTEGERS
#endif
#if !defined(__CUDA_NO_HALF_OPERATORS__)
#define CUDASIM_WITH_OPERATORS 1
#endif
#if !defined(__CUDA_NO_HALF2_OPERATORS__)
#define CUDASIM_WITH_PAIR_OPERATORS 1
#endif
// clang-format off
#include "cudasim/short_float_type.h"
#include "cudasim/short_float_conversions.h"
#include "cudasim/short_float_arithmetic.h"
#if defined(__CUDACC__) && defined(__CUDA__)
#include "cudasim/short_float_device.h"
#endif
#include "cudasim/short_float_end.h"
// clang-format on

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)

#if !defined(CUDA_NO_HALF)
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
typedef __half nv_half;
typedef __half2 nv_half2;
#endif
#endif

#endif
