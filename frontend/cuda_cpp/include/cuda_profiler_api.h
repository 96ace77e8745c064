// cudaProfilerStart() and cudaProfilerStop() (CUDA Runtime API, "Profiler Control").
#ifndef __CUDA_PROFILER_API_H__
#define __CUDA_PROFILER_API_H__

#include "cuda_runtime_api.h"
#include "driver_types.h"

#endif
