// The CUDA runtime API for C and C++ (CUDA Runtime API, "Modules").
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__

#define CUDART_VERSION 13000
#define __CUDART_API_VERSION CUDART_VERSION

#ifdef __cplusplus
#define CUDASIM_DEFAULT(value) = value
#else
#define CUDASIM_DEFAULT(value)
#endif

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __CUDA_API_PER_THREAD_DEFAULT_STREAM
#endif

// clang-format off
#include "host_defines.h"
#include "builtin_types.h"
#include "cuda_device_runtime_api.h"
#include "cudasim/per_thread_default_stream.h"
#include "cudasim/runtime_api_control.h"
#include "cudasim/runtime_api_memory.h"
#include "cudasim/runtime_api_graphs.h"
// clang-format on

#endif
