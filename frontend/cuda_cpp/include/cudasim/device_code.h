// What device code has without including anything: built-in variables, libdevice's functions, those of the
// warp, atomics, printf, malloc. clang's own headers for CUDA give most of it; they are made to be included
// from NVIDIA's toolkit, whose place this file takes.
#ifndef CUDASIM_DEVICE_CODE_H
#define CUDASIM_DEVICE_CODE_H

// clang's headers ask for the toolkit's version.
#define CUDA_VERSION 13000

// The order is that of what each header needs.
// clang-format off
#include <__clang_cuda_math_forward_declares.h>
#include <climits>
#include <cmath>
#include <cstdlib>
#include "../host_defines.h"
#include "../vector_types.h"
#include "../vector_functions.h"
#include <__clang_cuda_builtin_vars.h>
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>
// clang-format on

// System calls of device code (NVIDIA, "PTX Writer's Guide to Interoperability", "System Calls").
extern "C" {
__device__ int vprintf(const char* format, const char* arguments);
__device__ void free(void* pointer) __attribute__((nothrow));
__device__ void* malloc(size_t bytes) __attribute__((nothrow, malloc));
__device__ void __assertfail(const char* message, const char* file, unsigned line, const char* function,
                             size_t character_bytes);
__device__ static inline void __assert_fail(const char* message, const char* file, unsigned line,
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

#define CUDASIM_BUILT_IN_VARIABLE(type, extents)     \
    __device__ inline type::operator dim3() const {  \
        return dim3(x, y, z);                        \
    }                                                \
    __device__ inline type::operator uint3() const { \
        return {x, y, z};                            \
    }
CUDASIM_BUILT_IN_VARIABLE(__cuda_builtin_threadIdx_t, uint3)
CUDASIM_BUILT_IN_VARIABLE(__cuda_builtin_blockIdx_t, uint3)
CUDASIM_BUILT_IN_VARIABLE(__cuda_builtin_blockDim_t, dim3)
CUDASIM_BUILT_IN_VARIABLE(__cuda_builtin_gridDim_t, dim3)
#undef CUDASIM_BUILT_IN_VARIABLE

typedef unsigned int cuuint32_t;
static __device__ __forceinline__ unsigned int __isGlobal(const void* pointer) {
    return __nvvm_isspacep_global(pointer);
}
static __device__ __forceinline__ unsigned int __isShared(const void* pointer) {
    return __nvvm_isspacep_shared(pointer);
}
static __device__ __forceinline__ unsigned int __isConstant(const void* pointer) {
    return __nvvm_isspacep_const(pointer);
}
static __device__ __forceinline__ unsigned int __isLocal(const void* pointer) {
    return __nvvm_isspacep_local(pointer);
}
static __device__ __forceinline__ size_t __cvta_generic_to_shared(const void* pointer) {
    return (size_t)(__attribute__((address_space(3))) const void*)pointer;
}

// clang-format off
#include <__clang_cuda_cmath.h>
#include <__clang_cuda_intrinsics.h>
#include <__clang_cuda_complex_builtins.h>
#include "atomics.h"
// clang-format on

#endif
