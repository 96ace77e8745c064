// Copies by groups (CUDA C++ Programming Guide, "Cooperative Groups", "memcpy_async" and "wait and
// wait_prior"). Copies from global to shared memory are asynchronous, where the architecture has such copies.
#ifndef _CG_MEMCPY_ASYNC_H_
#define _CG_MEMCPY_ASYNC_H_

#include "../cooperative_groups.h"

#if defined(__cplusplus) && defined(__CUDACC__)

#include "../cudasim/copies_to_shared.h"

namespace cooperative_groups {

struct __cudasim_copy {
    /// The thread's share of a copy: every num_threads()-th unit.
    template <unsigned unit, typename Group>
    CUDASIM_GROUP_STATIC size_t units(const Group& group, unsigned char* target, const unsigned char* source,
                                      size_t bytes) {
        const size_t threads = group.num_threads(), whole = bytes / unit;
        const bool asynchronous = unit >= 4 && cudasim::copies::can_be_asynchronous(target, source);
        for (size_t i = group.thread_rank(); i < whole; i += threads) {
            unsigned char* to = target + i * unit;
            const unsigned char* from = source + i * unit;
            if (asynchronous)
                cudasim::copies::begin<(unit < 4 ? 4 : unit)>(to, from, unit);
            else
                __builtin_memcpy(__builtin_assume_aligned(to, unit), __builtin_assume_aligned(from, unit),
                                 unit);
        }
        return whole * unit;
    }
    /// In the largest units for which both sides are aligned, and what remains byte by byte.
    template <typename Group>
    CUDASIM_GROUP_STATIC void bytes(const Group& group, void* target, const void* source, size_t bytes) {
        unsigned char* to = static_cast<unsigned char*>(target);
        const unsigned char* from = static_cast<const unsigned char*>(source);
        const uintptr_t places = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
        size_t done = 0;
        if (places % 16 == 0) done = units<16>(group, to, from, bytes);
        if (places % 8 == 0) done += units<8>(group, to + done, from + done, bytes - done);
        if (places % 4 == 0) done += units<4>(group, to + done, from + done, bytes - done);
        units<1>(group, to + done, from + done, bytes - done);
        cudasim::copies::commit();
    }
};

/// @param bytes  a number, or a cuda::aligned_size_t
template <typename Group, typename T, typename Bytes>
CUDASIM_GROUP_STATIC void memcpy_async(const Group& group, T* __restrict__ target,
                                       const T* __restrict__ source, const Bytes& bytes) {
    __cudasim_copy::bytes(group, target, source, static_cast<size_t>(bytes));
}
/// Elements, as many as both sides have.
template <typename Group, typename T, typename TargetLayout, typename SourceLayout>
CUDASIM_GROUP_STATIC void memcpy_async(const Group& group, T* __restrict__ target,
                                       const TargetLayout& target_elements, const T* __restrict__ source,
                                       const SourceLayout& source_elements) {
    const size_t room = static_cast<size_t>(target_elements), given = static_cast<size_t>(source_elements);
    __cudasim_copy::bytes(group, target, source, (room < given ? room : given) * sizeof(T));
}

/// Waits for all copies of the group but the last `later` ones.
template <unsigned later, typename Group>
CUDASIM_GROUP_STATIC void wait_prior(const Group& group) {
    cudasim::copies::wait<later>();
    group.sync();
}
template <typename Group>
CUDASIM_GROUP_STATIC void wait(const Group& group) {
    cudasim::copies::wait_for_all();
    group.sync();
}

namespace experimental {
using cooperative_groups::memcpy_async;
using cooperative_groups::wait;
using cooperative_groups::wait_prior;
}  // namespace experimental

}  // namespace cooperative_groups

#endif
#endif
