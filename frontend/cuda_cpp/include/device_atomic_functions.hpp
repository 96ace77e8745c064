// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __DEVICE_ATOMIC_FUNCTIONS_HPP__
#define __DEVICE_ATOMIC_FUNCTIONS_HPP__

#include "cuda_runtime.h"

#endif
