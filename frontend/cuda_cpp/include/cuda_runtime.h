// The CUDA runtime for C and C++, and in .cu files what nvcc declares without being asked: it includes this
// header first.
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

#if defined(__CUDA__) && defined(__CUDACC__)
#include "cudasim/device_code.h"
#include "cudasim/missing_functions.h"
#endif
#include "builtin_types.h"
#include "cuda_runtime_api.h"
#include "device_launch_parameters.h"
#include "driver_functions.h"
#include "driver_types.h"
#include "host_config.h"
#include "host_defines.h"
#include "library_types.h"
#include "vector_functions.h"
#include "vector_types.h"
#if defined(__cplusplus)
#include "cudasim/runtime_templates.h"
#endif

#endif
