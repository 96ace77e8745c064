// The functions that this header of a CUDA toolkit declares are those of every .cu file here.
#ifndef __STORAGE_CLASS_H__
#define __STORAGE_CLASS_H__

#include "../cuda_runtime.h"

#endif
