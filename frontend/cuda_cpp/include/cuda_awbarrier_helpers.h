// Barriers in shared memory at which arriving and waiting are two steps, as the other headers of them need
// it: mbarrier objects in software, as on architectures before 8.0.
//
//   bit 63      the phase: changes when all have arrived
//   bits 32-62  how many arrivals the next phases expect
//   bits 0-31   how many arrivals this phase still expects
#ifndef _CUDA_AWBARRIER_HELPERS_H_
#define _CUDA_AWBARRIER_HELPERS_H_

#if defined(__cplusplus) && defined(__CUDACC__)

#include <stdint.h>

#include "host_defines.h"

#define CUDASIM_BARRIER static __device__ __forceinline__

namespace cudasim {
namespace barriers {

const uint64_t phase_bit = 1ull << 63;
const uint64_t pending_bits = 0xffffffffull;
const uint32_t most_arrivals = (1u << 20) - 1;  // PTX ISA, "mbarrier", "Contents of the mbarrier object"

CUDASIM_BARRIER uint64_t exchanged_if(uint64_t* barrier, uint64_t expected, uint64_t value) {
    return static_cast<uint64_t>(__nvvm_atom_cas_gen_ll(reinterpret_cast<long long*>(barrier),
                                                        static_cast<long long>(expected),
                                                        static_cast<long long>(value)));
}
CUDASIM_BARRIER uint64_t state(uint64_t* barrier) {
    return static_cast<uint64_t>(__nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(barrier), 0));
}
CUDASIM_BARRIER void init(uint64_t* barrier, uint32_t expected) {
    *barrier = static_cast<uint64_t>(expected) << 32 | expected;
}
/// The token is the state before the arrival.
/// @param dropped  how many arrivals the next phases expect less
CUDASIM_BARRIER uint64_t arrive(uint64_t* barrier, uint32_t dropped) {
    __nvvm_membar_cta();
    uint64_t seen = state(barrier);
    while (true) {
        uint64_t next = seen - (static_cast<uint64_t>(dropped) << 32) - 1;
        if ((next & pending_bits) == 0) next = (next ^ phase_bit) | (next >> 32 & 0x7fffffff);
        const uint64_t before = exchanged_if(barrier, seen, next);
        if (before == seen) break;
        seen = before;
    }
    __nvvm_membar_cta();
    return seen;
}
/// Whether the phase with this phase bit is complete.
CUDASIM_BARRIER bool complete(uint64_t* barrier, uint64_t phase) {
    const bool over = ((state(barrier) ^ phase) & phase_bit) != 0;
    if (over) __nvvm_membar_cta();
    return over;
}
CUDASIM_BARRIER void pause() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    __nvvm_nanosleep(20);
#endif
}
CUDASIM_BARRIER void wait(uint64_t* barrier, uint64_t token) {
    while (!complete(barrier, token)) pause();
}
/// Gives up after some looks at the barrier, whose number stands for the time.
CUDASIM_BARRIER bool wait_for_a_time(uint64_t* barrier, uint64_t phase, uint32_t time) {
    for (uint32_t waited = 0;; waited += 20) {
        if (complete(barrier, phase)) return true;
        if (waited >= time) return false;
        pause();
    }
}
CUDASIM_BARRIER uint64_t phase_of(bool parity) {
    return parity ? phase_bit : 0;
}

}  // namespace barriers
}  // namespace cudasim

#endif
#endif
