// Reductions by groups (CUDA C++ Programming Guide, "Cooperative Groups", "reduce"), and the operations that
// they know.
#ifndef _CG_REDUCE_H_
#define _CG_REDUCE_H_

#include "../cooperative_groups.h"

#if defined(__cplusplus) && defined(__CUDACC__)

#include "../cudasim/group_operations.h"

namespace cooperative_groups {

/// All threads get the result. The operation is associative and commutative.
template <typename Group, typename T, typename Operation>
CUDASIM_GROUP_STATIC auto reduce(const Group& group, T value, Operation&& operation) ->
    typename cudasim::groups::Bare<decltype(operation(value, value))>::type {
    typedef typename cudasim::groups::Bare<decltype(operation(value, value))>::type Value;
    return __cudasim_collective::reduce(group, static_cast<Value>(value), operation);
}

/// Leaves the result in a cuda::atomic or cuda::atomic_ref.
template <typename Group, typename Atomic, typename T, typename Operation>
CUDASIM_GROUP_STATIC void reduce_store_async(const Group& group, Atomic&& target, T value,
                                             Operation&& operation) {
    const auto result = cooperative_groups::reduce(group, value, operation);
    if (group.thread_rank() == 0) target.store(result);
}
/// Updates a cuda::atomic or cuda::atomic_ref with the result.
template <typename Group, typename Atomic, typename T, typename Operation>
CUDASIM_GROUP_STATIC void reduce_update_async(const Group& group, Atomic&& target, T value,
                                              Operation&& operation) {
    const auto result = cooperative_groups::reduce(group, value, operation);
    if (group.thread_rank() == 0) __cudasim_collective::update(target, result, operation);
}

}  // namespace cooperative_groups

#endif
#endif
