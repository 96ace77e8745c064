// Matrix operations of a warp (CUDA C++ Programming Guide, "Warp Matrix Functions").
#ifndef __CUDA_MMA_H__
#define __CUDA_MMA_H__

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#if defined(__cplusplus) && defined(__CUDACC__) && defined(__CUDA__)
// clang-format off
#include "cudasim/matrix_fragments.h"
#include "cudasim/matrix_operations.h"
// clang-format on
#endif

#endif
