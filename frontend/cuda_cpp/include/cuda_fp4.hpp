// Part of cuda_fp4.h.
#include "cuda_fp4.h"
