// NVTX: names for what the CUDA runtime makes.
#ifndef NVTOOLSEXT_CUDART_V3
#define NVTOOLSEXT_CUDART_V3

#include "../cuda_runtime_api.h"
#include "nvToolsExt.h"

#ifdef __cplusplus
extern "C" {
#endif
CUDASIM_NVTX_TEXTS(void, nvtxNameCudaDevice, CUDASIM_NOTHING, CUDASIM_UNUSED(int, device), )
CUDASIM_NVTX_TEXTS(void, nvtxNameCudaStream, CUDASIM_NOTHING, CUDASIM_UNUSED(cudaStream_t, stream), )
CUDASIM_NVTX_TEXTS(void, nvtxNameCudaEvent, CUDASIM_NOTHING, CUDASIM_UNUSED(cudaEvent_t, event), )
#ifdef __cplusplus
}
#endif

#ifdef UNICODE
#define nvtxNameCudaDevice nvtxNameCudaDeviceW
#define nvtxNameCudaStream nvtxNameCudaStreamW
#define nvtxNameCudaEvent nvtxNameCudaEventW
#else
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
#endif

#endif
