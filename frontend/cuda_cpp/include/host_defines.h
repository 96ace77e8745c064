// The words that CUDA adds to C++ (CUDA C++ Programming Guide, "C++ Language Extensions"). A host compiler
// sees empty ones.
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDAAPI
#define CUDA_CB

#define __no_return__ __attribute__((noreturn))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
#define __cudart_builtin__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define CUDARTAPI_PUBLIC

#if defined(__CUDA__)  // clang with -x cuda
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device, section("cudasim_managed")))
#if __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#else  // clang 19
#define __grid_constant__
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#if defined(__CUDA_ARCH__)
#define __cluster_dims__(...) __attribute__((annotate("cudasim_cluster_dims", __VA_ARGS__)))
#else
#define __cluster_dims__(...)
#endif
#define __block_size__(...)
#define __maxnreg__(...)
#define __nv_pure__ __attribute__((pure))
#else
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __nv_pure__
#endif

#endif
