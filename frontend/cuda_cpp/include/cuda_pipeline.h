// nvcuda::experimental::pipeline, as CUDA 11.0 introduced it: asynchronous copies of a thread, in batches.
#ifndef _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_H_

#include "cuda_pipeline_primitives.h"

#if defined(__cplusplus) && defined(__CUDACC__)

#include "cuda_awbarrier.h"

namespace nvcuda {
namespace experimental {

class pipeline {
  public:
    __device__ __forceinline__ pipeline() : next_batch(0) {}
    pipeline(const pipeline&) = delete;
    pipeline(pipeline&&) = delete;
    pipeline& operator=(const pipeline&) = delete;
    pipeline& operator=(pipeline&&) = delete;

    /// Gives the number of the batch.
    __device__ __forceinline__ size_t commit() {
        __pipeline_commit();
        return next_batch++;
    }
    __device__ __forceinline__ void commit_and_wait() {
        commit();
        wait_prior<0>();
    }
    __device__ __forceinline__ void wait(size_t batch) {
        __pipeline_wait_prior(next_batch > batch ? next_batch - batch - 1 : 0);
    }
    template <unsigned N>
    __device__ __forceinline__ void wait_prior() {
        cudasim::copies::wait<N>();
    }
    __device__ __forceinline__ void arrive_on(awbarrier& barrier) { __pipeline_arrive_on(&barrier.barrier); }

  private:
    size_t next_batch;
};

/// Values of 4, 8 or 16 bytes are copied asynchronously.
template <typename T>
static __device__ __forceinline__ void memcpy_async(T& target, const T& source, pipeline&) {
    static_assert(__is_trivially_copyable(T), "an asynchronous copy copies bytes");
    constexpr bool can_be = (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) && alignof(T) >= sizeof(T);
    if (can_be && cudasim::copies::can_be_asynchronous(&target, &source))
        cudasim::copies::begin<(can_be ? sizeof(T) : 4)>(&target, &source, can_be ? sizeof(T) : 4);
    else
        target = source;
}
/// Elements that the source does not have become zero.
template <typename T, size_t TargetCount, size_t SourceCount>
static __device__ __forceinline__ void memcpy_async(T (*target)[TargetCount], const T (*source)[SourceCount],
                                                    pipeline&) {
    constexpr size_t bytes = sizeof(*target), source_bytes = sizeof(*source);
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "an asynchronous copy is of 4, 8 or 16 bytes");
    static_assert(source_bytes <= bytes, "the source is larger than the target");
    cudasim::copies::begin<bytes>(target, source, static_cast<unsigned>(source_bytes));
}

}  // namespace experimental
}  // namespace nvcuda

#endif
#endif
