// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __SM_70_RT_HPP__
#define __SM_70_RT_HPP__

#include "../cuda_runtime.h"

#endif
