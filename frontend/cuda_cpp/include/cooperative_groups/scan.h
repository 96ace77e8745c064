// Prefix sums and their like by groups (CUDA C++ Programming Guide, "Cooperative Groups", "inclusive_scan and
// exclusive_scan").
#ifndef _CG_SCAN_H_
#define _CG_SCAN_H_

#include "../cooperative_groups.h"

#if defined(__cplusplus) && defined(__CUDACC__)

#include "../cudasim/group_operations.h"

namespace cooperative_groups {

template <typename Group, typename T, typename Operation>
CUDASIM_GROUP_STATIC auto inclusive_scan(const Group& group, T value, Operation&& operation) ->
    typename cudasim::groups::Bare<decltype(operation(value, value))>::type {
    typedef typename cudasim::groups::Bare<decltype(operation(value, value))>::type Value;
    return __cudasim_collective::inclusive(group, static_cast<Value>(value), operation);
}
template <typename Group, typename T>
CUDASIM_GROUP_STATIC T inclusive_scan(const Group& group, T value) {
    return cooperative_groups::inclusive_scan(group, value, plus<T>());
}

/// The first thread, before which there is nothing, gets a value-initialised result.
template <typename Group, typename T, typename Operation>
CUDASIM_GROUP_STATIC auto exclusive_scan(const Group& group, T value, Operation&& operation) ->
    typename cudasim::groups::Bare<decltype(operation(value, value))>::type {
    typedef typename cudasim::groups::Bare<decltype(operation(value, value))>::type Value;
    return __cudasim_collective::exclusive(group, static_cast<Value>(value), operation);
}
template <typename Group, typename T>
CUDASIM_GROUP_STATIC T exclusive_scan(const Group& group, T value) {
    return cooperative_groups::exclusive_scan(group, value, plus<T>());
}

// Scans whose sum updates a cuda::atomic or cuda::atomic_ref, and which start from what that held before.

template <typename Group, typename Atomic, typename T, typename Operation>
CUDASIM_GROUP_STATIC auto inclusive_scan_update(const Group& group, Atomic&& target, T value,
                                                Operation&& operation) ->
    typename cudasim::groups::Bare<decltype(operation(value, value))>::type {
    typedef typename cudasim::groups::Bare<decltype(operation(value, value))>::type Value;
    const Value inclusive = cooperative_groups::inclusive_scan(group, value, operation);
    const unsigned last = static_cast<unsigned>(group.num_threads() - 1);
    Value before = inclusive;
    if (group.thread_rank() == last) before = __cudasim_collective::update(target, inclusive, operation);
    return operation(group.shfl(before, last), inclusive);
}
template <typename Group, typename Atomic, typename T>
CUDASIM_GROUP_STATIC T inclusive_scan_update(const Group& group, Atomic&& target, T value) {
    return cooperative_groups::inclusive_scan_update(group, target, value, plus<T>());
}
template <typename Group, typename Atomic, typename T, typename Operation>
CUDASIM_GROUP_STATIC auto exclusive_scan_update(const Group& group, Atomic&& target, T value,
                                                Operation&& operation) ->
    typename cudasim::groups::Bare<decltype(operation(value, value))>::type {
    typedef typename cudasim::groups::Bare<decltype(operation(value, value))>::type Value;
    const Value inclusive = cooperative_groups::inclusive_scan(group, value, operation);
    const unsigned last = static_cast<unsigned>(group.num_threads() - 1);
    Value before = inclusive;
    if (group.thread_rank() == last) before = __cudasim_collective::update(target, inclusive, operation);
    before = group.shfl(before, last);
    const Value earlier = __cudasim_collective::from_previous(group, inclusive);
    return group.thread_rank() == 0 ? before : operation(before, earlier);
}
template <typename Group, typename Atomic, typename T>
CUDASIM_GROUP_STATIC T exclusive_scan_update(const Group& group, Atomic&& target, T value) {
    return cooperative_groups::exclusive_scan_update(group, target, value, plus<T>());
}

}  // namespace cooperative_groups

#endif
#endif
