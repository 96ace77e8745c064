// nvcuda::experimental::awbarrier, as CUDA 11.0 introduced it: a barrier in shared memory at which arriving
// and waiting are two steps.
#ifndef _CUDA_AWBARRIER_H_
#define _CUDA_AWBARRIER_H_

#include "cuda_awbarrier_primitives.h"

#if defined(__cplusplus) && defined(__CUDACC__)

namespace nvcuda {
namespace experimental {

class awbarrier {
  public:
    class arrival_token {
      public:
        arrival_token() = default;
        __device__ __forceinline__ uint32_t pending_count() const {
            return __mbarrier_token_pending_count(token);
        }

      private:
        friend class awbarrier;
        __device__ __forceinline__ explicit arrival_token(uint64_t state) : token(state) {}
        uint64_t token;
    };

    awbarrier() = default;
    awbarrier(const awbarrier&) = delete;
    awbarrier& operator=(const awbarrier&) = delete;

    __device__ __forceinline__ arrival_token arrive() { return arrival_token(__mbarrier_arrive(&barrier)); }
    __device__ __forceinline__ arrival_token arrive_and_drop() {
        return arrival_token(__mbarrier_arrive_and_drop(&barrier));
    }
    __device__ __forceinline__ void wait(arrival_token token) {
        cudasim::barriers::wait(&barrier, token.token);
    }
    __device__ __forceinline__ void arrive_and_wait() { wait(arrive()); }
    __device__ __forceinline__ bool timed_wait(arrival_token token, uint32_t hint_cycles) {
        return __mbarrier_try_wait(&barrier, token.token, hint_cycles);
    }
    __device__ __forceinline__ bool timed_wait_parity(bool phase, uint32_t hint_cycles) {
        return __mbarrier_try_wait_parity(&barrier, phase, hint_cycles);
    }
    __device__ __forceinline__ bool try_wait(arrival_token token, uint32_t max_sleep_nanosec) {
        return __mbarrier_try_wait(&barrier, token.token, max_sleep_nanosec);
    }
    __device__ __forceinline__ bool try_wait_parity(bool phase, uint32_t max_sleep_nanosec) {
        return __mbarrier_try_wait_parity(&barrier, phase, max_sleep_nanosec);
    }
    static __host__ __device__ constexpr uint32_t max() { return cudasim::barriers::most_arrivals; }

  private:
    friend class pipeline;
    friend __device__ __forceinline__ void init(awbarrier* barrier, uint32_t expected_count) {
        __mbarrier_init(&barrier->barrier, expected_count);
    }
    friend __device__ __forceinline__ void inval(awbarrier* barrier) { __mbarrier_inval(&barrier->barrier); }

    uint64_t barrier;
};

__device__ void init(awbarrier* barrier, uint32_t expected_count);
__device__ void inval(awbarrier* barrier);

}  // namespace experimental
}  // namespace nvcuda

#endif
#endif
