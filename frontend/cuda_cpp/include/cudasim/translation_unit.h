// What nvcc includes before each .cu file.
#ifndef CUDASIM_TRANSLATION_UNIT_H
#define CUDASIM_TRANSLATION_UNIT_H

#include <cuda_runtime.h>

#if defined(CUDASIM_OPENMP) && !defined(__CUDA_ARCH__)
// clang 19 calls it after loops with a dynamic schedule. It does nothing, and libomp has it since version 19.
extern "C" __attribute__((weak, visibility("hidden"), used)) void __kmpc_dispatch_deinit(void*, int) {}
#endif

#endif
