// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __SM_20_INTRINSICS_H__
#define __SM_20_INTRINSICS_H__

#include "cuda_runtime.h"

#endif
