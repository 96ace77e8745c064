// Functions of clusters of blocks (sm_90 and later), as clang's and CUDA's headers name them; cooperative
// groups have the same as this_cluster().
#ifndef CUDASIM_CLUSTER_FUNCTIONS_H
#define CUDASIM_CLUSTER_FUNCTIONS_H

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

#include "../host_defines.h"
#include "../vector_types.h"

#define CUDASIM_DEVICE static __device__ __inline__ __attribute__((always_inline))

#define CUDASIM_EXTENTS(name, register)                                                           \
    CUDASIM_DEVICE dim3 name() {                                                                  \
        return dim3(__nvvm_read_ptx_sreg_##register##_x(), __nvvm_read_ptx_sreg_##register##_y(), \
                    __nvvm_read_ptx_sreg_##register##_z());                                       \
    }
CUDASIM_EXTENTS(__clusterDim, cluster_nctaid)
CUDASIM_EXTENTS(__clusterRelativeBlockIdx, cluster_ctaid)
CUDASIM_EXTENTS(__clusterGridDimInClusters, nclusterid)
CUDASIM_EXTENTS(__clusterIdx, clusterid)
#undef CUDASIM_EXTENTS

CUDASIM_DEVICE unsigned __clusterDimIsSpecified() {
    return __nvvm_is_explicit_cluster();
}
CUDASIM_DEVICE unsigned __clusterRelativeBlockRank() {
    return __nvvm_read_ptx_sreg_cluster_ctarank();
}
CUDASIM_DEVICE unsigned __clusterSizeInBlocks() {
    return __nvvm_read_ptx_sreg_cluster_nctarank();
}

CUDASIM_DEVICE void __cluster_barrier_arrive() {
    __nvvm_barrier_cluster_arrive();
}
CUDASIM_DEVICE void __cluster_barrier_arrive_relaxed() {
    __nvvm_barrier_cluster_arrive_relaxed();
}
CUDASIM_DEVICE void __cluster_barrier_wait() {
    __nvvm_barrier_cluster_wait();
}
CUDASIM_DEVICE void __threadfence_cluster() {
    __nvvm_fence_sc_cluster();
}

CUDASIM_DEVICE void* __cluster_map_shared_rank(const void* pointer, unsigned rank) {
    return __nvvm_mapa(const_cast<void*>(pointer), static_cast<int>(rank));
}
CUDASIM_DEVICE unsigned __cluster_query_shared_rank(const void* pointer) {
    return static_cast<unsigned>(__nvvm_getctarank(const_cast<void*>(pointer)));
}
CUDASIM_DEVICE unsigned __isCtaShared(const void* pointer) {
    return __nvvm_isspacep_shared(pointer);
}
CUDASIM_DEVICE unsigned __isClusterShared(const void* pointer) {
    return __nvvm_isspacep_shared_cluster(pointer);
}

#undef CUDASIM_DEVICE

#endif
#endif
