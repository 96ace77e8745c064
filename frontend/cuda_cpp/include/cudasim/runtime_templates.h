// The runtime API's C++ part (CUDA Runtime API, "C++ API Routines").
#ifndef CUDASIM_RUNTIME_TEMPLATES_H
#define CUDASIM_RUNTIME_TEMPLATES_H

#include "../cuda_runtime_api.h"

template <typename T>
static __inline__ __attribute__((always_inline)) __host__ cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return ::cudaMalloc(static_cast<void**>(static_cast<void*>(pointer)), bytes);
}

#endif
