// Asynchronous copies from global to shared memory: cp.async where the architecture has it, else copies that
// are complete at once (CUDA C++ Programming Guide, "Asynchronous Data Copies").
#ifndef CUDASIM_COPIES_TO_SHARED_H
#define CUDASIM_COPIES_TO_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "../host_defines.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define CUDASIM_HAS_CP_ASYNC 1
#else
#define CUDASIM_HAS_CP_ASYNC 0
#endif

namespace cudasim {
namespace copies {

/// Copies `source_bytes` of 4, 8 or 16 bytes; the others become zero.
template <unsigned bytes>
static __device__ __forceinline__ void begin(void* target, const void* source, unsigned source_bytes) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "an asynchronous copy is of 4, 8 or 16 bytes");
#if CUDASIM_HAS_CP_ASYNC
    auto* to = (__attribute__((address_space(3))) void*)target;
    auto* from = (__attribute__((address_space(1))) const void*)source;
    if (bytes == 4)
        __nvvm_cp_async_ca_shared_global_4(to, from, source_bytes);
    else if (bytes == 8)
        __nvvm_cp_async_ca_shared_global_8(to, from, source_bytes);
    else
        __nvvm_cp_async_cg_shared_global_16(to, from, source_bytes);
#else
    if (source_bytes == bytes) {
        __builtin_memcpy(__builtin_assume_aligned(target, bytes), __builtin_assume_aligned(source, bytes),
                         bytes);
        return;
    }
    for (unsigned i = 0; i < bytes; ++i)
        static_cast<unsigned char*>(target)[i] =
            i < source_bytes ? static_cast<const unsigned char*>(source)[i] : static_cast<unsigned char>(0);
#endif
}

static __device__ __forceinline__ void commit() {
#if CUDASIM_HAS_CP_ASYNC
    __nvvm_cp_async_commit_group();
#endif
}

/// Waits for all groups of copies but the last `later` ones.
template <unsigned later>
static __device__ __forceinline__ void wait() {
#if CUDASIM_HAS_CP_ASYNC
    __nvvm_cp_async_wait_group(later);
#endif
}

/// A number that is not known at compile time: more groups than 8 are waited for as if they were 8.
static __device__ __forceinline__ void wait(size_t later) {
    switch (later) {
        case 0:
            return wait<0>();
        case 1:
            return wait<1>();
        case 2:
            return wait<2>();
        case 3:
            return wait<3>();
        case 4:
            return wait<4>();
        case 5:
            return wait<5>();
        case 6:
            return wait<6>();
        case 7:
            return wait<7>();
        default:
            return wait<8>();
    }
}

/// Also for copies in no group yet.
static __device__ __forceinline__ void wait_for_all() {
#if CUDASIM_HAS_CP_ASYNC
    __nvvm_cp_async_wait_all();
#endif
}

static __device__ __forceinline__ bool can_be_asynchronous(const void* target, const void* source) {
#if CUDASIM_HAS_CP_ASYNC
    return __nvvm_isspacep_shared(target) && __nvvm_isspacep_global(source);
#else
    (void)target;
    (void)source;
    return false;
#endif
}

}  // namespace copies
}  // namespace cudasim

#endif
