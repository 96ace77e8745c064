// Numbers of 16 bits with the range of float, bfloat16 (CUDA Math API, "Bfloat16 Precision Intrinsics").
#ifndef __CUDA_BF16_H__
#define __CUDA_BF16_H__

#include "cuda_fp16.h"

typedef struct __align__(2) {
    unsigned short x;
} __nv_bfloat16_raw;
typedef struct __align__(4) {
    unsigned short x;
    unsigned short y;
} __nv_bfloat162_raw;

#if defined(__cplusplus)
#define __CUDA_BF16_TYPES_EXIST__

#define CUDASIM_SHORT __nv_bfloat16
#define CUDASIM_PAIR __nv_bfloat162
#define CUDASIM_RAW __nv_bfloat16_raw
#define CUDASIM_RAW_PAIR __nv_bfloat162_raw
#define CUDASIM_OTHER __half
#define CUDASIM_FORMAT cudasim::BfloatFormat
#define CUDASIM_WORD bfloat16
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define CUDASIM_WITH_CONVERSIONS 1
#endif
#if defined(__CUDA_BF16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__)
#define CUDASIM_WITHOUT_INTEGERS
#endif
#if !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define CUDASIM_WITH_OPERATORS 1
#endif
#if !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
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

#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
CUDASIM_MEMBER inline __nv_bfloat16::__nv_bfloat16(const __half other)
    : __x(cudasim::bits_of(__float2bfloat16(__half2float(other)))) {}
#endif
#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
CUDASIM_MEMBER inline __half::__half(const __nv_bfloat16 other)
    : __x(cudasim::bits_of(__float2half(__bfloat162float(other)))) {}
#endif

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)

#if !defined(CUDA_NO_BFLOAT16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#endif
#endif

#endif
