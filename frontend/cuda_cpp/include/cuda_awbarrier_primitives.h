// Barriers in shared memory as plain functions (CUDA C++ Programming Guide, "Asynchronous Barrier", "Memory
// Barrier Primitives Interface").
#ifndef _CUDA_AWBARRIER_PRIMITIVES_H_
#define _CUDA_AWBARRIER_PRIMITIVES_H_

#include "cuda_awbarrier_helpers.h"

#if defined(__cplusplus) && defined(__CUDACC__)

typedef uint64_t __mbarrier_t;
typedef uint64_t __mbarrier_token_t;

static __host__ __device__ __forceinline__ uint32_t __mbarrier_maximum_count() {
    return cudasim::barriers::most_arrivals;
}
CUDASIM_BARRIER void __mbarrier_init(__mbarrier_t* barrier, uint32_t expected_count) {
    cudasim::barriers::init(barrier, expected_count);
}
CUDASIM_BARRIER void __mbarrier_inval(__mbarrier_t* barrier) {
    *barrier = 0;
}
CUDASIM_BARRIER __mbarrier_token_t __mbarrier_arrive(__mbarrier_t* barrier) {
    return cudasim::barriers::arrive(barrier, 0);
}
CUDASIM_BARRIER __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t* barrier) {
    return cudasim::barriers::arrive(barrier, 1);
}
CUDASIM_BARRIER bool __mbarrier_test_wait(__mbarrier_t* barrier, __mbarrier_token_t token) {
    return cudasim::barriers::complete(barrier, token);
}
CUDASIM_BARRIER bool __mbarrier_test_wait_parity(__mbarrier_t* barrier, bool phase_parity) {
    return cudasim::barriers::complete(barrier, cudasim::barriers::phase_of(phase_parity));
}
CUDASIM_BARRIER bool __mbarrier_try_wait(__mbarrier_t* barrier, __mbarrier_token_t token,
                                         uint32_t max_sleep_nanosec) {
    return cudasim::barriers::wait_for_a_time(barrier, token, max_sleep_nanosec);
}
CUDASIM_BARRIER bool __mbarrier_try_wait_parity(__mbarrier_t* barrier, bool phase_parity,
                                                uint32_t max_sleep_nanosec) {
    return cudasim::barriers::wait_for_a_time(barrier, cudasim::barriers::phase_of(phase_parity),
                                              max_sleep_nanosec);
}
CUDASIM_BARRIER uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token) {
    return static_cast<uint32_t>(token & cudasim::barriers::pending_bits);
}

#endif
#endif
