// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __COMMON_FUNCTIONS_H__
#define __COMMON_FUNCTIONS_H__

#include "../cuda_runtime.h"

#endif
