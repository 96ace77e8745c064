// Groups made of groups: partitions into tiles, by labels and by predicates, and one thread for all (CUDA C++
// Programming Guide, "Cooperative Groups", "Group Partitioning" and "Execution control"). Included by
// cooperative_groups.h.
#ifndef CUDASIM_GROUP_PARTITIONS_H
#define CUDASIM_GROUP_PARTITIONS_H

#include "group_tiles.h"

namespace cooperative_groups {

// Tiles of a size that is known at compile time -------------------------------------------------------------

template <unsigned Size, bool within_warp = (Size <= cudasim::groups::warp_lanes)>
struct __cudasim_tile_memory {
    CUDASIM_GROUP_STATIC cudasim::groups::TileMemory* of_block() { return nullptr; }
};
/// All threads of the block come here, so that none waits at a barrier of a tile while they are cleared.
template <unsigned Size>
struct __cudasim_tile_memory<Size, false> {
    CUDASIM_GROUP_STATIC cudasim::groups::TileMemory* of_block() {
        cudasim::groups::TileMemory* memory = cudasim::groups::new_tile_memory();
        thread_block::sync();
        if (thread_block::thread_rank() == 0) cudasim::groups::clear_barriers(memory);
        thread_block::sync();
        return memory;
    }
};

template <unsigned Size>
CUDASIM_GROUP_STATIC thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
    return __cudasim_tile_factory::part<thread_block_tile<Size, thread_block>>(
        __cudasim_tile_memory<Size>::of_block());
}
template <unsigned Size, unsigned ParentSize, typename Grandparent>
CUDASIM_GROUP_STATIC thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>> tiled_partition(
    const thread_block_tile<ParentSize, Grandparent>& parent) {
    static_assert(Size <= ParentSize, "a tile cannot be larger than the tile of which it is a part");
    return __cudasim_tile_factory::part<thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>>>(
        __cudasim_factory::memory(parent));
}

// Tiles of a size that is known at run time: threads of a warp, a power of 2 of them
// -------------------------

CUDASIM_GROUP_STATIC coalesced_group __cudasim_tile_of_block(unsigned tile_threads) {
    const unsigned rank = thread_block::thread_rank(), threads = thread_block::num_threads();
    const unsigned first = rank & ~(tile_threads - 1);
    const unsigned present = threads - first < tile_threads ? threads - first : tile_threads;
    const unsigned mask = present >= 32 ? cudasim::groups::whole_warp : (1u << present) - 1;
    return __cudasim_factory::of_lanes(mask << (first % 32), rank / tile_threads,
                                       (threads + tile_threads - 1) / tile_threads);
}
/// The threads whose ranks are in the same part of the parent, which can be any threads of a warp.
CUDASIM_GROUP_STATIC coalesced_group __cudasim_tile_of_lanes(unsigned mask, unsigned tile_threads) {
    const unsigned threads = cudasim::groups::count(mask);
    const unsigned rank = cudasim::groups::count(mask & cudasim::groups::lanes_below());
    const unsigned first = rank & ~(tile_threads - 1);
    unsigned part = 0, place = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1, ++place)
        if (place - first < tile_threads) part |= rest & -rest;
    return __cudasim_factory::of_lanes(part, rank / tile_threads,
                                       (threads + tile_threads - 1) / tile_threads);
}
CUDASIM_GROUP_STATIC coalesced_group tiled_partition(const coalesced_group& parent, unsigned tile_threads) {
    return __cudasim_tile_of_lanes(__cudasim_factory::mask(parent), tile_threads);
}
CUDASIM_GROUP_STATIC thread_group tiled_partition(const thread_block&, unsigned tile_threads) {
    return __cudasim_tile_of_block(tile_threads);
}
CUDASIM_GROUP thread_group tiled_partition(const thread_group& parent, unsigned tile_threads) {
    return parent.kind == thread_group::lanes ? __cudasim_tile_of_lanes(parent.mask_or_threads, tile_threads)
                                              : __cudasim_tile_of_block(tile_threads);
}

// Partitions by what threads say
// -----------------------------------------------------------------------------

template <typename Group>
struct __cudasim_within_warp : cudasim::groups::Truth<false> {};
template <>
struct __cudasim_within_warp<coalesced_group> : cudasim::groups::Truth<true> {};
template <unsigned Size, typename Parent>
struct __cudasim_within_warp<thread_block_tile<Size, Parent>>
    : cudasim::groups::Truth<(Size <= cudasim::groups::warp_lanes)> {};

/// Groups of the threads with the same label, ranked by their first threads.
template <typename Group, typename Label>
CUDASIM_GROUP_STATIC
    typename cudasim::groups::When<__cudasim_within_warp<Group>::value, coalesced_group>::type
    labeled_partition(const Group& parent, Label label) {
    const unsigned all = __cudasim_factory::mask(parent);
    const unsigned same = cudasim::groups::Match<Label>::any(all, label);
    const bool first = (same & cudasim::groups::lanes_below()) == 0;
    const unsigned firsts = static_cast<unsigned>(__nvvm_vote_ballot_sync(all, first));
    return __cudasim_factory::of_lanes(same, cudasim::groups::count(firsts & ((same & -same) - 1)),
                                       cudasim::groups::count(firsts));
}
template <typename Group>
CUDASIM_GROUP_STATIC
    typename cudasim::groups::When<__cudasim_within_warp<Group>::value, coalesced_group>::type
    binary_partition(const Group& parent, bool predicate) {
    const unsigned all = __cudasim_factory::mask(parent);
    const unsigned yes = static_cast<unsigned>(__nvvm_vote_ballot_sync(all, predicate)) & all;
    if (yes == 0 || yes == all) return __cudasim_factory::of_lanes(all);
    return __cudasim_factory::of_lanes(predicate ? yes : all & ~yes, predicate, 2);
}

// One thread for all
// -----------------------------------------------------------------------------------------

template <typename Group, typename Function, typename... Arguments>
CUDASIM_GROUP_STATIC void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
}
template <typename Group, typename Function, typename... Arguments>
CUDASIM_GROUP_STATIC auto invoke_one_broadcast(const Group& group, Function&& function,
                                               Arguments&&... arguments) ->
    typename cudasim::groups::Bare<
        decltype(static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...))>::type {
    typedef typename cudasim::groups::Bare<decltype(static_cast<Function&&>(function)(
        static_cast<Arguments&&>(arguments)...))>::type Value;
    union Result {  // the others have no value, and perhaps no constructor
        CUDASIM_GROUP Result() : zero() {}
        unsigned char zero[sizeof(Value)];
        Value value;
    } result;
    if (group.thread_rank() == 0)
        new (&result.value) Value(static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...));
    return group.shfl(result.value, 0);
}

// The names that tiles of several warps had before CUDA 12.
namespace experimental {
using cooperative_groups::this_thread_block;
using cooperative_groups::thread_block;
using cooperative_groups::thread_block_tile;
using cooperative_groups::tiled_partition;

template <unsigned MaxCommunicationSize, unsigned MaxBlockSize = 1024>
struct block_tile_memory {
    unsigned char __cudasim_unused;
};
template <unsigned MaxCommunicationSize, unsigned MaxBlockSize>
CUDASIM_GROUP_STATIC thread_block this_thread_block(block_tile_memory<MaxCommunicationSize, MaxBlockSize>&) {
    return thread_block();
}
}  // namespace experimental

}  // namespace cooperative_groups

#endif
