// What cuda_pipeline.h and cuda_pipeline_primitives.h have in common.
#ifndef _CUDA_PIPELINE_HELPERS_H_
#define _CUDA_PIPELINE_HELPERS_H_

#if defined(__cplusplus) && defined(__CUDACC__)
#include "cudasim/copies_to_shared.h"
#endif

#endif
