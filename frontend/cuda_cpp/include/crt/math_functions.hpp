// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __MATH_FUNCTIONS_HPP__
#define __MATH_FUNCTIONS_HPP__

#include "../cuda_runtime.h"

#endif
