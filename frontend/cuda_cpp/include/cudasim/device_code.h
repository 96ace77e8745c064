// What device code has without including anything: built-in variables, mathematical functions, those of the
// warp, atomics, printf, malloc. clang's own headers for CUDA give much of it; they are made to be included
// from NVIDIA's toolkit, whose place this file takes.
#ifndef CUDASIM_DEVICE_CODE_H
#define CUDASIM_DEVICE_CODE_H

// The order is that of what each header needs: clang's forward declarations come before any header of the C++
// library, whose constexpr functions would become functions of host and device otherwise.
// clang-format off
#include <__clang_cuda_math_forward_declares.h>
#include <cmath>
#include <cstdlib>
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>
#include "../host_defines.h"
#include "../vector_types.h"
#include "../vector_functions.h"
#include "built_in_variables.h"
#include <__clang_cuda_libdevice_declares.h>

#include "special_functions.h"
#include "simd_in_a_word.h"

// Functions of libdevice that clang's headers call and the simulator does not have, as what they mean; and
// functions of clang's headers that other headers of ours have instead, out of the way. clang takes
// CUDA_VERSION for that of a toolkit: below 9.2 it leaves out its assembly for SIMD in a word.
#pragma push_macro("CUDA_VERSION")
#undef CUDA_VERSION
#define CUDA_VERSION 9010
#define __nv_dsub_rd(a, b) __nv_dadd_rd(a, -(b))
#define __nv_dsub_rn(a, b) __nv_dadd_rn(a, -(b))
#define __nv_dsub_ru(a, b) __nv_dadd_ru(a, -(b))
#define __nv_dsub_rz(a, b) __nv_dadd_rz(a, -(b))
#define __nv_fmaf_ieee_rd(a, b, c) __nv_fmaf_rd(a, b, c)
#define __nv_fmaf_ieee_rn(a, b, c) __nv_fmaf_rn(a, b, c)
#define __nv_fmaf_ieee_ru(a, b, c) __nv_fmaf_ru(a, b, c)
#define __nv_fmaf_ieee_rz(a, b, c) __nv_fmaf_rz(a, b, c)
#define __nv_float_as_uint(a) __builtin_bit_cast(unsigned int, a)
#define __nv_uint_as_float(a) __builtin_bit_cast(float, a)
#define __all __cudasim_clang_all
#define __any __cudasim_clang_any
#define __ballot __cudasim_clang_ballot
#define __brkpt __cudasim_clang_brkpt
#define __trap __cudasim_clang_trap
#define clock __cudasim_clang_clock
#include <__clang_cuda_device_functions.h>
#undef __nv_dsub_rd
#undef __nv_dsub_rn
#undef __nv_dsub_ru
#undef __nv_dsub_rz
#undef __nv_fmaf_ieee_rd
#undef __nv_fmaf_ieee_rn
#undef __nv_fmaf_ieee_ru
#undef __nv_fmaf_ieee_rz
#undef __nv_float_as_uint
#undef __nv_uint_as_float
#undef __all
#undef __any
#undef __ballot
#undef __brkpt
#undef __trap
#undef clock
#undef __prof_trigger
#define __nv_norm(count, values) cudasim::norm_of(count, values, false)
#define __nv_normf(count, values) cudasim::float_norm_of(count, values, false)
#define __nv_norm3d(a, b, c) cudasim::norm_of(3, cudasim::Values4<double>{{a, b, c, 0}}, false)
#define __nv_norm3df(a, b, c) cudasim::float_norm_of(3, cudasim::Values4<float>{{a, b, c, 0}}, false)
#define __nv_norm4d(a, b, c, d) cudasim::norm_of(4, cudasim::Values4<double>{{a, b, c, d}}, false)
#define __nv_norm4df(a, b, c, d) cudasim::float_norm_of(4, cudasim::Values4<float>{{a, b, c, d}}, false)
#define __nv_rnorm(count, values) cudasim::norm_of(count, values, true)
#define __nv_rnormf(count, values) cudasim::float_norm_of(count, values, true)
#define __nv_rnorm3d(a, b, c) cudasim::norm_of(3, cudasim::Values4<double>{{a, b, c, 0}}, true)
#define __nv_rnorm3df(a, b, c) cudasim::float_norm_of(3, cudasim::Values4<float>{{a, b, c, 0}}, true)
#define __nv_rnorm4d(a, b, c, d) cudasim::norm_of(4, cudasim::Values4<double>{{a, b, c, d}}, true)
#define __nv_rnorm4df(a, b, c, d) cudasim::float_norm_of(4, cudasim::Values4<float>{{a, b, c, d}}, true)
#define __nv_cyl_bessel_i0(x) cudasim::modified_bessel(0, x)
#define __nv_cyl_bessel_i0f(x) static_cast<float>(cudasim::modified_bessel(0, x))
#define __nv_cyl_bessel_i1(x) cudasim::modified_bessel(1, x)
#define __nv_cyl_bessel_i1f(x) static_cast<float>(cudasim::modified_bessel(1, x))
#include <__clang_cuda_math.h>
#undef __nv_norm
#undef __nv_normf
#undef __nv_norm3d
#undef __nv_norm3df
#undef __nv_norm4d
#undef __nv_norm4df
#undef __nv_rnorm
#undef __nv_rnormf
#undef __nv_rnorm3d
#undef __nv_rnorm3df
#undef __nv_rnorm4d
#undef __nv_rnorm4df
#undef __nv_cyl_bessel_i0
#undef __nv_cyl_bessel_i0f
#undef __nv_cyl_bessel_i1
#undef __nv_cyl_bessel_i1f
#pragma pop_macro("CUDA_VERSION")
// clang-format on

// System calls of device code (NVIDIA, "PTX Writer's Guide to Interoperability", "System Calls").
extern "C" {
__device__ int vprintf(const char* format, const char* arguments);
__device__ void free(void* pointer) __attribute__((nothrow));
__device__ void* malloc(size_t bytes) __attribute__((nothrow, malloc));
__device__ void __assertfail(const char* message, const char* file, unsigned line, const char* function,
                             size_t character_bytes);
__device__ __attribute__((always_inline)) static inline void __assert_fail(const char* message,
                                                                           const char* file, unsigned line,
                                                                           const char* function) {
    __assertfail(message, file, line, function, sizeof(char));
}
__device__ int printf(const char* format, ...);
}
namespace std {
__device__ static inline void free(void* pointer) {
    ::free(pointer);
}
__device__ static inline void* malloc(size_t bytes) {
    return ::malloc(bytes);
}
}  // namespace std

typedef unsigned int cuuint32_t;

static __device__ __forceinline__ clock_t clock() {
    return static_cast<clock_t>(__nvvm_read_ptx_sreg_clock());
}
static __device__ __forceinline__ void __trap() {
    __builtin_trap();
}
// No debugger of the GPU listens: execution goes on, as without one.
static __device__ __forceinline__ void __brkpt(int = 0) {}
static __device__ __forceinline__ void __prof_trigger(int) {}

// clang-format off
#include <__clang_cuda_cmath.h>
#include "math_overloads.h"
#include "integer_functions.h"
#include "cluster_functions.h"
#include "memory_functions.h"
#include "warp_functions.h"
#include <__clang_cuda_complex_builtins.h>
#include "atomics.h"
#include "scoped_atomics.h"
#include <new>
// clang-format on

#endif
