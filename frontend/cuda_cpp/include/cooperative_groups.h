// Cooperative groups (CUDA C++ Programming Guide, "Cooperative Groups"): the groups themselves. Reductions,
// scans and copies by groups lie in cooperative_groups/. Only .cu files see them.
#ifndef _COOPERATIVE_GROUPS_H_
#define _COOPERATIVE_GROUPS_H_

#if defined(__cplusplus) && defined(__CUDACC__)

#include "cudasim/group_lanes.h"
#include "cudasim/group_warps.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define _CG_HAS_CLUSTER_GROUP
#endif
#define _CG_HAS_GRID_GROUP
#define _CG_HAS_MATCH_COLLECTIVE

// What CUDA's device runtime has for groups. 1 stands for the grid.
extern "C" {
__device__ unsigned long long cudaCGGetIntrinsicHandle(unsigned scope);
__device__ unsigned cudaCGSynchronize(unsigned long long handle, unsigned flags);
}

namespace cooperative_groups {

class coalesced_group;
class thread_block;
template <unsigned Size, typename Parent = void>
class thread_block_tile;
struct __cudasim_factory;

/// Any group. What it is, is known when the kernel runs.
class thread_group {
  public:
    CUDASIM_GROUP unsigned long long num_threads() const;
    CUDASIM_GROUP unsigned long long size() const { return num_threads(); }
    CUDASIM_GROUP unsigned long long thread_rank() const;
    CUDASIM_GROUP void sync() const;

  protected:
    friend struct __cudasim_factory;
    friend CUDASIM_GROUP thread_group tiled_partition(const thread_group& parent, unsigned tile_threads);

    enum Kind : unsigned { lanes, warps, block, cluster, grid };

    CUDASIM_GROUP thread_group(Kind group_kind, unsigned extent, unsigned rank_among_siblings = 0,
                               unsigned siblings = 1, cudasim::groups::TileMemory* tile_memory = nullptr)
        : kind(group_kind),
          mask_or_threads(extent),
          meta_rank(static_cast<unsigned short>(rank_among_siblings)),
          meta_size(static_cast<unsigned short>(siblings)),
          memory(tile_memory) {}

    Kind kind;
    unsigned mask_or_threads;  ///< of `lanes` a mask, of `warps` how many threads
    unsigned short meta_rank, meta_size;
    cudasim::groups::TileMemory* memory;  ///< of `warps`
};

/// The threads of the block.
class thread_block : public thread_group {
  public:
    struct arrival_token {};

    CUDASIM_GROUP thread_block() : thread_group(block, 0) {}

    CUDASIM_GROUP_STATIC void sync() { __nvvm_bar_sync(0); }
    /// Nobody waits before barrier_wait(). It is the barrier: a thread that waits leaves when all threads of
    /// the block have come to barrier_wait(), which is not before they have come to barrier_arrive().
    CUDASIM_GROUP arrival_token barrier_arrive() const {
        __nvvm_membar_cta();
        return arrival_token();
    }
    CUDASIM_GROUP void barrier_wait(arrival_token&&) const { sync(); }

    CUDASIM_GROUP_STATIC unsigned thread_rank() { return cudasim::groups::thread_of_block(); }
    CUDASIM_GROUP_STATIC unsigned num_threads() { return cudasim::groups::threads_of_block(); }
    CUDASIM_GROUP_STATIC unsigned size() { return num_threads(); }
    CUDASIM_GROUP_STATIC dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    CUDASIM_GROUP_STATIC dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    CUDASIM_GROUP_STATIC dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    CUDASIM_GROUP_STATIC dim3 dim_threads() { return group_dim(); }
};

CUDASIM_GROUP_STATIC thread_block this_thread_block() {
    return thread_block();
}

/// Memory for tiles of more than 32 threads on architectures before 8.0. Here such tiles bring their own.
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory {
    unsigned char __cudasim_unused;
};
template <unsigned MaxBlockSize>
CUDASIM_GROUP_STATIC thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
    return thread_block();
}

/// All threads of the launch. sync() is for cooperative launches (cudaLaunchCooperativeKernel()).
class grid_group : public thread_group {
  public:
    typedef unsigned arrival_token;

    CUDASIM_GROUP grid_group() : thread_group(grid, 0) {}

    CUDASIM_GROUP bool is_valid() const { return cudaCGGetIntrinsicHandle(1) != 0; }
    CUDASIM_GROUP void sync() const { cudaCGSynchronize(cudaCGGetIntrinsicHandle(1), 0); }
    /// As thread_block::barrier_arrive().
    CUDASIM_GROUP arrival_token barrier_arrive() const {
        __nvvm_membar_gl();
        return 0;
    }
    CUDASIM_GROUP void barrier_wait(arrival_token&&) const { sync(); }

    CUDASIM_GROUP_STATIC unsigned long long block_rank() {
        return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
               blockIdx.x;
    }
    CUDASIM_GROUP_STATIC unsigned long long num_blocks() {
        return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
    }
    CUDASIM_GROUP_STATIC unsigned long long thread_rank() {
        return block_rank() * cudasim::groups::threads_of_block() + cudasim::groups::thread_of_block();
    }
    CUDASIM_GROUP_STATIC unsigned long long num_threads() {
        return num_blocks() * cudasim::groups::threads_of_block();
    }
    CUDASIM_GROUP_STATIC unsigned long long size() { return num_threads(); }
    CUDASIM_GROUP_STATIC dim3 dim_blocks() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    CUDASIM_GROUP_STATIC dim3 group_dim() { return dim_blocks(); }
    CUDASIM_GROUP_STATIC dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    CUDASIM_GROUP_STATIC dim3 dim_threads() {
        return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
    }
    CUDASIM_GROUP_STATIC dim3 thread_index() {
        return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                    blockIdx.z * blockDim.z + threadIdx.z);
    }
#ifdef _CG_HAS_CLUSTER_GROUP
    CUDASIM_GROUP_STATIC dim3 dim_clusters() {
        return dim3(__nvvm_read_ptx_sreg_nclusterid_x(), __nvvm_read_ptx_sreg_nclusterid_y(),
                    __nvvm_read_ptx_sreg_nclusterid_z());
    }
    CUDASIM_GROUP_STATIC unsigned long long num_clusters() {
        const dim3 clusters = dim_clusters();
        return static_cast<unsigned long long>(clusters.x) * clusters.y * clusters.z;
    }
    CUDASIM_GROUP_STATIC dim3 cluster_index() {
        return dim3(__nvvm_read_ptx_sreg_clusterid_x(), __nvvm_read_ptx_sreg_clusterid_y(),
                    __nvvm_read_ptx_sreg_clusterid_z());
    }
    CUDASIM_GROUP_STATIC unsigned long long cluster_rank() {
        const dim3 clusters = dim_clusters(), index = cluster_index();
        return (static_cast<unsigned long long>(index.z) * clusters.y + index.y) * clusters.x + index.x;
    }
#endif
};

CUDASIM_GROUP_STATIC grid_group this_grid() {
    return grid_group();
}

#ifdef _CG_HAS_CLUSTER_GROUP
/// The threads of the block's cluster (sm_90 and later); the cluster of a launch that asks for none is one
/// block.
class cluster_group : public thread_group {
  public:
    struct arrival_token {};

    CUDASIM_GROUP cluster_group() : thread_group(cluster, 0) {}

    CUDASIM_GROUP_STATIC void sync() {
        __nvvm_barrier_cluster_arrive();
        __nvvm_barrier_cluster_wait();
    }
    CUDASIM_GROUP_STATIC arrival_token barrier_arrive() {
        __nvvm_barrier_cluster_arrive();
        return arrival_token();
    }
    CUDASIM_GROUP_STATIC void barrier_wait() { __nvvm_barrier_cluster_wait(); }
    CUDASIM_GROUP_STATIC void barrier_wait(arrival_token&&) { __nvvm_barrier_cluster_wait(); }

    /// The block of a variable in shared memory.
    CUDASIM_GROUP_STATIC unsigned query_shared_rank(const void* address) {
        return static_cast<unsigned>(__nvvm_getctarank(const_cast<void*>(address)));
    }
    /// The variable of the block that has this rank.
    template <typename T>
    CUDASIM_GROUP_STATIC T* map_shared_rank(T* address, int rank) {
        return static_cast<T*>(
            __nvvm_mapa(const_cast<void*>(static_cast<const volatile void*>(address)), rank));
    }

    CUDASIM_GROUP_STATIC dim3 block_index() {
        return dim3(__nvvm_read_ptx_sreg_cluster_ctaid_x(), __nvvm_read_ptx_sreg_cluster_ctaid_y(),
                    __nvvm_read_ptx_sreg_cluster_ctaid_z());
    }
    CUDASIM_GROUP_STATIC unsigned block_rank() { return __nvvm_read_ptx_sreg_cluster_ctarank(); }
    CUDASIM_GROUP_STATIC dim3 dim_blocks() {
        return dim3(__nvvm_read_ptx_sreg_cluster_nctaid_x(), __nvvm_read_ptx_sreg_cluster_nctaid_y(),
                    __nvvm_read_ptx_sreg_cluster_nctaid_z());
    }
    CUDASIM_GROUP_STATIC unsigned num_blocks() { return __nvvm_read_ptx_sreg_cluster_nctarank(); }
    CUDASIM_GROUP_STATIC dim3 thread_index() {
        const dim3 block = block_index();
        return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                    block.z * blockDim.z + threadIdx.z);
    }
    CUDASIM_GROUP_STATIC unsigned thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    CUDASIM_GROUP_STATIC dim3 dim_threads() {
        const dim3 blocks = dim_blocks();
        return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
    }
    CUDASIM_GROUP_STATIC unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
    CUDASIM_GROUP_STATIC unsigned size() { return num_threads(); }
};

CUDASIM_GROUP_STATIC cluster_group this_cluster() {
    return cluster_group();
}
#endif

/// Some threads of a warp, ranked by their lanes.
class coalesced_group : public thread_group {
  public:
    CUDASIM_GROUP unsigned num_threads() const { return cudasim::groups::count(mask_or_threads); }
    CUDASIM_GROUP unsigned size() const { return num_threads(); }
    CUDASIM_GROUP unsigned thread_rank() const {
        return cudasim::groups::count(mask_or_threads & cudasim::groups::lanes_below());
    }
    CUDASIM_GROUP unsigned meta_group_rank() const { return meta_rank; }
    CUDASIM_GROUP unsigned meta_group_size() const { return meta_size; }
    CUDASIM_GROUP void sync() const { __nvvm_bar_warp_sync(mask_or_threads); }

    template <typename Value>
    CUDASIM_GROUP Value shfl(Value value, unsigned rank) const {
        return from<Value>(value, cudasim::groups::lane_of_rank(mask_or_threads, rank));
    }
    /// A thread without another one so far from it gets its own value.
    template <typename Value>
    CUDASIM_GROUP Value shfl_up(Value value, unsigned distance) const {
        using namespace cudasim::groups;
        if (mask_or_threads == whole_warp)
            return shuffle<FromBelow, Value>(mask_or_threads, value, distance, warp_lanes);
        const unsigned rank = thread_rank();
        return from<Value>(value, rank >= distance ? lane_of_rank(mask_or_threads, rank - distance) : lane());
    }
    template <typename Value>
    CUDASIM_GROUP Value shfl_down(Value value, unsigned distance) const {
        using namespace cudasim::groups;
        if (mask_or_threads == whole_warp)
            return shuffle<FromAbove, Value>(mask_or_threads, value, distance, warp_lanes);
        const unsigned rank = thread_rank();
        return from<Value>(
            value, distance < num_threads() - rank ? lane_of_rank(mask_or_threads, rank + distance) : lane());
    }

    CUDASIM_GROUP int any(int predicate) const {
        return __nvvm_vote_any_sync(mask_or_threads, predicate != 0);
    }
    CUDASIM_GROUP int all(int predicate) const {
        return __nvvm_vote_all_sync(mask_or_threads, predicate != 0);
    }
    /// Bits of threads, here and below, are in the order of their ranks.
    CUDASIM_GROUP unsigned ballot(int predicate) const {
        return cudasim::groups::by_rank(__nvvm_vote_ballot_sync(mask_or_threads, predicate != 0),
                                        mask_or_threads);
    }
    template <typename T>
    CUDASIM_GROUP unsigned match_any(T value) const {
        return cudasim::groups::by_rank(cudasim::groups::Match<T>::any(mask_or_threads, value),
                                        mask_or_threads);
    }
    template <typename T>
    CUDASIM_GROUP unsigned match_all(T value, int& equal) const {
        return cudasim::groups::by_rank(cudasim::groups::Match<T>::all(mask_or_threads, value, equal),
                                        mask_or_threads);
    }

  private:
    friend struct __cudasim_factory;

    CUDASIM_GROUP explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned siblings = 1)
        : thread_group(lanes, mask, rank, siblings) {}

    template <typename Value>
    CUDASIM_GROUP Value from(Value value, unsigned lane) const {
        return cudasim::groups::shuffle<cudasim::groups::FromLane, Value>(mask_or_threads, value, lane,
                                                                          cudasim::groups::warp_lanes);
    }
};

/// What makes groups that programs only get from functions, and knows the lanes of those within a warp.
struct __cudasim_factory {
    CUDASIM_GROUP_STATIC coalesced_group of_lanes(unsigned mask, unsigned rank = 0, unsigned siblings = 1) {
        return coalesced_group(mask, rank, siblings);
    }
    CUDASIM_GROUP_STATIC unsigned mask(const thread_group& group) { return group.mask_or_threads; }
    CUDASIM_GROUP_STATIC cudasim::groups::TileMemory* memory(const thread_group& group) {
        return group.memory;
    }
};

/// The threads of the warp that run together with the caller.
CUDASIM_GROUP_STATIC coalesced_group coalesced_threads() {
    return __cudasim_factory::of_lanes(static_cast<unsigned>(__nvvm_activemask()));
}

CUDASIM_GROUP unsigned long long thread_group::num_threads() const {
    switch (kind) {
        case lanes:
            return cudasim::groups::count(mask_or_threads);
        case warps:
            return mask_or_threads;
#ifdef _CG_HAS_CLUSTER_GROUP
        case cluster:
            return cluster_group::num_threads();
#endif
        case grid:
            return grid_group::num_threads();
        default:
            return thread_block::num_threads();
    }
}
CUDASIM_GROUP unsigned long long thread_group::thread_rank() const {
    switch (kind) {
        case lanes:
            return cudasim::groups::count(mask_or_threads & cudasim::groups::lanes_below());
        case warps:
            return thread_block::thread_rank() & (mask_or_threads - 1);
#ifdef _CG_HAS_CLUSTER_GROUP
        case cluster:
            return cluster_group::thread_rank();
#endif
        case grid:
            return grid_group::thread_rank();
        default:
            return thread_block::thread_rank();
    }
}
CUDASIM_GROUP void thread_group::sync() const {
    switch (kind) {
        case lanes:
            return __nvvm_bar_warp_sync(mask_or_threads);
        case warps:
            return cudasim::groups::wait_for_warps(memory, mask_or_threads);
#ifdef _CG_HAS_CLUSTER_GROUP
        case cluster:
            return cluster_group::sync();
#endif
        case grid:
            return this_grid().sync();
        default:
            return thread_block::sync();
    }
}

template <typename Group>
CUDASIM_GROUP_STATIC void sync(const Group& group) {
    group.sync();
}
template <typename Group>
CUDASIM_GROUP_STATIC auto thread_rank(const Group& group) -> decltype(group.thread_rank()) {
    return group.thread_rank();
}
template <typename Group>
CUDASIM_GROUP_STATIC auto group_size(const Group& group) -> decltype(group.num_threads()) {
    return group.num_threads();
}

}  // namespace cooperative_groups

#include "cudasim/group_partitions.h"
#include "cudasim/group_tiles.h"

#endif
#endif
