// The CUDA runtime API for C and C++.
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__

#define CUDART_VERSION 13000

#ifdef __cplusplus
#define CUDASIM_DEFAULT(value) = value
#else
#define CUDASIM_DEFAULT(value)
#endif

#include "driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream);

/* What the compiler calls for kernel<<<...>>>(...). */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes CUDASIM_DEFAULT(0),
                                     struct CUstream_st* stream CUDASIM_DEFAULT(0));
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);

#ifdef __cplusplus
}
#endif

#endif
