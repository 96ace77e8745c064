// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __FUNC_MACRO_H__
#define __FUNC_MACRO_H__

#include "../cuda_runtime.h"

#endif
