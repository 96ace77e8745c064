// Checks clusters of thread blocks by itself: nvcc -arch=sm_90 -std=c++17 cluster_check.cu && ./a.out
// Lines "observed: ..." say what this GPU (or simulator) does where the documentation leaves it open; nothing
// depends on them. The last line is "all checks passed" and the exit status 0 when everything else is right.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace cg = cooperative_groups;

static int failures = 0;
#define EXPECT(condition)                                                     \
    do {                                                                      \
        if (!(condition)) {                                                   \
            std::printf("line %d: %s does not hold\n", __LINE__, #condition); \
            ++failures;                                                       \
        }                                                                     \
    } while (0)

template <typename... Parameters, typename... Arguments>
static cudaError_t launch(dim3 grid, dim3 block, size_t shared, dim3 cluster, void (*kernel)(Parameters...),
                          Arguments... arguments) {
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// What a thread knows of its cluster ------------------------------------------------------------------------

struct Seen {
    unsigned group[20];
    unsigned registers[16];
    unsigned functions[16];
};

__device__ unsigned special(int which) {
    unsigned value = 0;
    switch (which) {
        case 0: asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(value)); break;
        case 1: asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(value)); break;
        case 2: asm volatile("mov.u32 %0, %%clusterid.z;" : "=r"(value)); break;
        case 3: asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(value)); break;
        case 4: asm volatile("mov.u32 %0, %%nclusterid.y;" : "=r"(value)); break;
        case 5: asm volatile("mov.u32 %0, %%nclusterid.z;" : "=r"(value)); break;
        case 6: asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(value)); break;
        case 7: asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(value)); break;
        case 8: asm volatile("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(value)); break;
        case 9: asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(value)); break;
        case 10: asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(value)); break;
        case 11: asm volatile("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(value)); break;
        case 12: asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(value)); break;
        case 13: asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(value)); break;
        case 14:
            asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
                         : "=r"(value));
            break;
    }
    return value;
}

__device__ void look(Seen* all) {
    const cg::cluster_group cluster = cg::this_cluster();
    const cg::grid_group grid = cg::this_grid();
    Seen& seen = all[grid.thread_rank()];
    unsigned* to = seen.group;
    const dim3 index = cluster.block_index(), blocks = cluster.dim_blocks(), threads = cluster.dim_threads();
    *to++ = cluster.num_threads();
    *to++ = cluster.thread_rank();
    *to++ = cluster.num_blocks();
    *to++ = cluster.block_rank();
    *to++ = index.x, *to++ = index.y, *to++ = index.z;
    *to++ = blocks.x, *to++ = blocks.y, *to++ = blocks.z;
    *to++ = threads.x, *to++ = threads.y, *to++ = threads.z;
    *to++ = static_cast<unsigned>(grid.num_clusters());
    for (int i = 0; i < 15; ++i) seen.registers[i] = special(i);
    const dim3 d = __clusterDim(), at = __clusterRelativeBlockIdx(), id = __clusterIdx(),
               n = __clusterGridDimInClusters();
    to = seen.functions;
    *to++ = id.x, *to++ = id.y, *to++ = id.z;
    *to++ = n.x, *to++ = n.y, *to++ = n.z;
    *to++ = at.x, *to++ = at.y, *to++ = at.z;
    *to++ = d.x, *to++ = d.y, *to++ = d.z;
    *to++ = __clusterRelativeBlockRank();
    *to++ = __clusterSizeInBlocks();
    *to++ = __clusterDimIsSpecified();
}
__global__ void look_at_launch(Seen* all) { look(all); }
__global__ void __cluster_dims__(2, 1, 1) look_declared(Seen* all) { look(all); }

static void expect_seen(const Seen* all, dim3 grid, dim3 block, dim3 cluster, unsigned is_explicit) {
    const unsigned threads = block.x * block.y * block.z;
    const unsigned of_cluster = cluster.x * cluster.y * cluster.z;
    size_t at = 0;
    for (unsigned bz = 0; bz < grid.z; ++bz)
        for (unsigned by = 0; by < grid.y; ++by)
            for (unsigned bx = 0; bx < grid.x; ++bx)
                for (unsigned thread = 0; thread < threads; ++thread, ++at) {
                    const unsigned in[3] = {bx % cluster.x, by % cluster.y, bz % cluster.z};
                    const unsigned rank = in[0] + cluster.x * (in[1] + cluster.y * in[2]);
                    const unsigned n[3] = {grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z};
                    const unsigned group[] = {of_cluster * threads,
                                              rank * threads + thread,
                                              of_cluster,
                                              rank,
                                              in[0],
                                              in[1],
                                              in[2],
                                              cluster.x,
                                              cluster.y,
                                              cluster.z,
                                              cluster.x * block.x,
                                              cluster.y * block.y,
                                              cluster.z * block.z,
                                              n[0] * n[1] * n[2]};
                    const unsigned registers[] = {bx / cluster.x, by / cluster.y, bz / cluster.z, n[0],
                                                  n[1],           n[2],           in[0],          in[1],
                                                  in[2],          cluster.x,      cluster.y,      cluster.z,
                                                  rank,           of_cluster,     is_explicit};
                    const bool right = std::memcmp(all[at].group, group, sizeof group) == 0 &&
                                       std::memcmp(all[at].registers, registers, sizeof registers) == 0 &&
                                       std::memcmp(all[at].functions, registers, sizeof registers) == 0;
                    if (!right) {
                        std::printf("block (%u, %u, %u), thread %u sees another cluster\n", bx, by, bz, thread);
                        ++failures;
                        return;
                    }
                }
}

static void check_what_threads_see() {
    Seen* seen;
    const dim3 grid(4, 4, 2), block(8, 2, 2);
    const size_t threads = 32 * 32;
    EXPECT(cudaMallocManaged(&seen, threads * sizeof(Seen)) == cudaSuccess);
    for (const dim3 cluster : {dim3(2, 1, 1), dim3(1, 4, 2), dim3(2, 2, 2), dim3(1, 1, 1), dim3(4, 1, 2)}) {
        std::memset(seen, 0xff, threads * sizeof(Seen));
        EXPECT(launch(grid, block, 0, cluster, look_at_launch, seen) == cudaSuccess);
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);
        expect_seen(seen, grid, block, cluster, 1);
    }
    std::memset(seen, 0xff, threads * sizeof(Seen));
    look_declared<<<grid, block>>>(seen);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    expect_seen(seen, grid, block, dim3(2, 1, 1), 1);
    std::memset(seen, 0xff, threads * sizeof(Seen));
    look_at_launch<<<grid, block>>>(seen);  // no clusters: each block is one
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    expect_seen(seen, grid, block, dim3(1, 1, 1), 0);
    cudaFree(seen);
}

// Shared memory of other blocks -----------------------------------------------------------------------------

__global__ void pass_round(int* out, int rounds) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[64];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    dynamic[threadIdx.x] = static_cast<int>(blockIdx.x * 1000 + threadIdx.x);
    bool is_back = true;
    for (int round = 0; round < rounds; ++round) {
        const int before = dynamic[threadIdx.x];
        cluster.sync();
        const int* theirs = cluster.map_shared_rank(dynamic, static_cast<int>(next));
        const int value = theirs[threadIdx.x];
        int* their_fixed = cluster.map_shared_rank(fixed, static_cast<int>(next));
        their_fixed[threadIdx.x] = value;  // what they have comes back to them
        cluster.sync();
        dynamic[threadIdx.x] = value;
        is_back = is_back && fixed[threadIdx.x] == before;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = dynamic[threadIdx.x];
    const bool right = cluster.query_shared_rank(cluster.map_shared_rank(fixed, static_cast<int>(next))) == next &&
                       cluster.query_shared_rank(fixed) == rank &&
                       cluster.map_shared_rank(&fixed[3], static_cast<int>(rank)) == &fixed[3];
    if (!right || !is_back) out[blockIdx.x * blockDim.x + threadIdx.x] = -2;
    cluster.sync();
}

__global__ void __cluster_dims__(4, 1, 1) count(unsigned* out) {
    __shared__ unsigned counter;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) counter = 0;
    cluster.sync();
    for (int rank = 0; rank < 4; ++rank) atomicAdd(cluster.map_shared_rank(&counter, rank), rank + 1u);
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = counter;
}

__global__ void __cluster_dims__(2, 1, 1) apart(unsigned* out) {
    __shared__ unsigned mine;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) mine = 100 + cluster.block_rank();
    auto token = cluster.barrier_arrive();
    unsigned work = threadIdx.x;  // needs nothing of other blocks
    for (int i = 0; i < 100; ++i) work = work * 1664525u + 1013904223u;
    cluster.barrier_wait(static_cast<decltype(token)&&>(token));
    const unsigned theirs = *cluster.map_shared_rank(&mine, 1 - static_cast<int>(cluster.block_rank()));
    out[blockIdx.x * blockDim.x + threadIdx.x] = theirs + (work & 0u);
    cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) in_ptx(unsigned* out) {
    __shared__ unsigned words[4];
    unsigned rank, size;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    if (threadIdx.x < 4) words[threadIdx.x] = rank * 10 + threadIdx.x;
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    const unsigned other = 1 - rank;
    const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(words));
    unsigned there, loaded, of, of_generic, before = 0;
    unsigned long long generic;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(other));
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(words), "r"(other));
    asm volatile("ld.shared::cluster.u32 %0, [%1+4];" : "=r"(loaded) : "r"(there) : "memory");
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of) : "r"(there));
    asm volatile("getctarank.u64 %0, %1;" : "=r"(of_generic) : "l"(generic));
    if (threadIdx.x == 0) asm volatile("st.shared::cluster.u32 [%0+8], %1;" ::"r"(there), "r"(rank + 70) : "memory");
    asm volatile("atom.shared::cluster.add.u32 %0, [%1+12], %2;" : "=r"(before) : "r"(there), "r"(1) : "memory");
    const unsigned by_pointer = *reinterpret_cast<const unsigned*>(generic);
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        unsigned* to = out + blockIdx.x * 8;
        to[0] = loaded, to[1] = of, to[2] = of_generic, to[3] = by_pointer;
        to[4] = words[2], to[5] = words[3], to[6] = size;
        to[7] = __isClusterShared(reinterpret_cast<void*>(generic)) ? 1u : 0u;
    }
    asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
}

__global__ void __cluster_dims__(2, 1, 1) by_functions(unsigned* out) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = 7 + __clusterRelativeBlockRank();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    const unsigned other = 1 - __clusterRelativeBlockRank();
    const auto* theirs = static_cast<const unsigned*>(__cluster_map_shared_rank(&mine, other));
    out[blockIdx.x] = *theirs * 10 + __cluster_query_shared_rank(theirs);
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

static void check_shared_memory() {
    int* out;
    EXPECT(cudaMallocManaged(&out, 64 * 64 * sizeof(int)) == cudaSuccess);
    for (const unsigned size : {2u, 4u, 8u}) {
        const int rounds = 3;
        EXPECT(launch(dim3(16), dim3(64), 64 * sizeof(int), dim3(size), pass_round, out, rounds) == cudaSuccess);
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);
        bool right = true;
        for (unsigned block = 0; block < 16; ++block)
            for (unsigned thread = 0; thread < 64; ++thread) {
                const unsigned from = block / size * size + (block % size + rounds) % size;
                right = right && out[block * 64 + thread] == static_cast<int>(from * 1000 + thread);
            }
        EXPECT(right);
    }
    auto* words = reinterpret_cast<unsigned*>(out);
    count<<<8, 96>>>(words);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    for (unsigned block = 0; block < 8; ++block) EXPECT(words[block] == 4 * 96 * (block % 4 + 1));
    apart<<<4, 64>>>(words);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    for (unsigned block = 0; block < 4; ++block)
        for (unsigned thread = 0; thread < 64; ++thread)
            if (words[block * 64 + thread] != 101 - block % 2) EXPECT(!"the other block's word");
    in_ptx<<<2, 32>>>(words);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    for (unsigned block = 0; block < 2; ++block) {
        const unsigned* of = words + block * 8;
        const unsigned other = 1 - block;
        EXPECT(of[0] == other * 10 + 1);
        EXPECT(of[1] == other);
        EXPECT(of[2] == other);
        EXPECT(of[3] == other * 10);
        EXPECT(of[4] == other + 70);
        EXPECT(of[5] == block * 10 + 3 + 32);
        EXPECT(of[6] == 2);
        EXPECT(of[7] == 1);
    }
    by_functions<<<2, 1>>>(words);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(words[0] == 81 && words[1] == 70);
    cudaFree(out);
}

// Blocks of a cluster run at the same time ------------------------------------------------------------------

/// Each block waits for all others of its cluster, in global memory, and for no other cluster.
__global__ void meet(unsigned* arrived) {
    if (threadIdx.x != 0) return;
    const unsigned size = __clusterSizeInBlocks();
    unsigned* mine = arrived + blockIdx.x / size;
    __threadfence();
    atomicAdd(mine, 1);
    while (atomicAdd(mine, 0) != size) {
    }
}

/// barrier.cluster.wait is for threads that have not ended.
__global__ void __cluster_dims__(2, 1, 1) some_end(unsigned* out) {
    if (threadIdx.x >= 32) return;
    cg::this_cluster().sync();
    if (threadIdx.x == 0) out[blockIdx.x] = 5;
}

static void check_residency() {
    unsigned* arrived;
    const unsigned blocks = 20000;  // more than a device holds
    EXPECT(cudaMallocManaged(&arrived, blocks * sizeof(unsigned)) == cudaSuccess);
    for (const unsigned size : {2u, 8u}) {
        std::memset(arrived, 0, blocks * sizeof(unsigned));
        EXPECT(launch(dim3(blocks), dim3(32), 0, dim3(size), meet, arrived) == cudaSuccess);
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);
        bool right = true;
        for (unsigned i = 0; i < blocks / size; ++i) right = right && arrived[i] == size;
        EXPECT(right);
    }
    some_end<<<2, 64>>>(arrived);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(arrived[0] == 5 && arrived[1] == 5);
    cudaFree(arrived);
}

// What is refused, and what is known of kernels -------------------------------------------------------------

__global__ void nothing() {}
__global__ void __cluster_dims__(2, 1, 1) nothing_in_pairs() {}

static void observe(const char* what, cudaError_t code) {
    std::printf("observed: %s: %s\n", what, cudaGetErrorName(code));
    (void)cudaGetLastError();
}

static void check_launches() {
    cudaError_t code = launch(dim3(3), dim3(32), 0, dim3(2), nothing);
    EXPECT(code != cudaSuccess);  // the grid is no multiple of the cluster
    observe("3 blocks in clusters of 2, by attribute", code);
    nothing_in_pairs<<<3, 32>>>();
    code = cudaGetLastError();
    EXPECT(code != cudaSuccess);
    observe("3 blocks in clusters of 2, by __cluster_dims__", code);
    code = launch(dim3(16), dim3(32), 0, dim3(16), nothing);
    EXPECT(code != cudaSuccess);  // more than 8 are to be allowed first
    observe("clusters of 16 that are not allowed", code);
    EXPECT(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess);
    observe("clusters of 16 that are allowed", launch(dim3(16), dim3(32), 0, dim3(16), nothing));
    code = launch(dim3(32), dim3(32), 0, dim3(32), nothing);
    EXPECT(code != cudaSuccess);
    observe("clusters of 32", code);
    observe("a cluster of (0, 1, 1)", launch(dim3(4), dim3(32), 0, dim3(0, 1, 1), nothing));
    observe("an attribute of 2 for __cluster_dims__(2, 1, 1)",
            launch(dim3(4), dim3(32), 0, dim3(2), nothing_in_pairs));
    observe("an attribute of 4 for __cluster_dims__(2, 1, 1)",
            launch(dim3(4), dim3(32), 0, dim3(4), nothing_in_pairs));
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);

    cudaFuncAttributes attributes = {};
    EXPECT(cudaFuncGetAttributes(&attributes, nothing_in_pairs) == cudaSuccess);
    EXPECT(attributes.requiredClusterWidth == 2);
    EXPECT(attributes.requiredClusterHeight == 1);
    EXPECT(attributes.requiredClusterDepth == 1);
    std::printf("observed: clusterDimMustBeSet of __cluster_dims__: %d\n", attributes.clusterDimMustBeSet);
    EXPECT(cudaFuncGetAttributes(&attributes, nothing) == cudaSuccess);
    EXPECT(attributes.requiredClusterWidth == 0);
    EXPECT(attributes.nonPortableClusterSizeAllowed == 1);
    observe("cudaFuncAttributeRequiredClusterWidth for __cluster_dims__",
            cudaFuncSetAttribute(nothing_in_pairs, cudaFuncAttributeRequiredClusterWidth, 4));

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(64);
    config.blockDim = dim3(128);
    int size = 0;
    EXPECT(cudaOccupancyMaxPotentialClusterSize(&size, look_at_launch, &config) == cudaSuccess);
    EXPECT(size >= 1);
    std::printf("observed: cudaOccupancyMaxPotentialClusterSize: %d\n", size);
    EXPECT(cudaOccupancyMaxPotentialClusterSize(&size, nothing, &config) == cudaSuccess);
    std::printf("observed: the same where larger ones are allowed: %d\n", size);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (const unsigned blocks : {1u, 2u, 4u, 8u, 16u}) {
        attribute.val.clusterDim.x = blocks;
        int clusters = -1;
        const cudaError_t asked = cudaOccupancyMaxActiveClusters(&clusters, nothing, &config);
        if (blocks <= 8) EXPECT(asked == cudaSuccess && clusters > 0);
        std::printf("observed: active clusters of %u blocks of 128 threads: %d (%s)\n", blocks, clusters,
                    cudaGetErrorName(asked));
    }
    (void)cudaGetLastError();
}

int main() {
    int clusters = 0;
    EXPECT(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0) == cudaSuccess);
    cudaDeviceProp properties;
    EXPECT(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
    EXPECT(properties.clusterLaunch == clusters);
    if (properties.major < 9) {
        std::printf("%s has no clusters\n", properties.name);
        return 2;
    }
    EXPECT(clusters == 1);
    std::printf("on %s\n", properties.name);
    check_what_threads_see();
    check_shared_memory();
    check_residency();
    check_launches();
    std::printf(failures == 0 ? "all checks passed\n" : "%d checks failed\n", failures);
    return failures == 0 ? 0 : 1;
}
