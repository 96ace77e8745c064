// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __HOST_RUNTIME_H__
#define __HOST_RUNTIME_H__

#include "../cuda_runtime.h"

#endif
