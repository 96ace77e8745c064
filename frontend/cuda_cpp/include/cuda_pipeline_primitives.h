// Asynchronous copies as plain functions (CUDA C++ Programming Guide, "Asynchronous Data Copies", "Pipeline
// Primitives Interface").
#ifndef _CUDA_PIPELINE_PRIMITIVES_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_

#include "cuda_pipeline_helpers.h"

#if defined(__cplusplus) && defined(__CUDACC__)

#include "cuda_awbarrier_primitives.h"

/// Copies 4, 8 or 16 bytes to shared memory. The last `zfill` of them become zero, and are not read.
static __device__ __forceinline__ void __pipeline_memcpy_async(void* __restrict__ dst_shared,
                                                               const void* __restrict__ src_global,
                                                               size_t size_and_align, size_t zfill = 0) {
    const unsigned source_bytes = static_cast<unsigned>(size_and_align - zfill);
    switch (size_and_align) {
        case 4:
            return cudasim::copies::begin<4>(dst_shared, src_global, source_bytes);
        case 8:
            return cudasim::copies::begin<8>(dst_shared, src_global, source_bytes);
        case 16:
            return cudasim::copies::begin<16>(dst_shared, src_global, source_bytes);
        default:
            __builtin_trap();
    }
}
static __device__ __forceinline__ void __pipeline_commit() {
    cudasim::copies::commit();
}
static __device__ __forceinline__ void __pipeline_wait_prior(size_t prior) {
    cudasim::copies::wait(prior);
}
/// The barrier expects one arrival more, which comes when the thread's copies are complete. Waiting for them
/// here leaves the barrier as it is.
static __device__ __forceinline__ void __pipeline_arrive_on(__mbarrier_t*) {
    cudasim::copies::wait_for_all();
}

#endif
#endif
