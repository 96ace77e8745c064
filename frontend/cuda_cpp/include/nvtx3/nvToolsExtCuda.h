// NVTX: names for what the CUDA driver makes.
#ifndef NVTOOLSEXT_CUDA_V3
#define NVTOOLSEXT_CUDA_V3

#include "nvToolsExt.h"

#ifdef __cplusplus
extern "C" {
#endif
CUDASIM_NVTX_TEXTS(void, nvtxNameCuDevice, CUDASIM_NOTHING, CUDASIM_UNUSED(int, device), )
CUDASIM_NVTX_TEXTS(void, nvtxNameCuContext, CUDASIM_NOTHING, CUDASIM_UNUSED(struct CUctx_st*, context), )
CUDASIM_NVTX_TEXTS(void, nvtxNameCuStream, CUDASIM_NOTHING, CUDASIM_UNUSED(struct CUstream_st*, stream), )
CUDASIM_NVTX_TEXTS(void, nvtxNameCuEvent, CUDASIM_NOTHING, CUDASIM_UNUSED(struct CUevent_st*, event), )
#ifdef __cplusplus
}
#endif

#endif
