// threadIdx, blockIdx, blockDim, gridDim and warpSize are there in .cu files without including anything
// (CUDA C++ Programming Guide, "Built-in Variables").
#ifndef __DEVICE_LAUNCH_PARAMETERS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__

#include "vector_types.h"

#endif
