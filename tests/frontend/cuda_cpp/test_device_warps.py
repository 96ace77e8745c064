"""Functions of warps and blocks, cache hints, address spaces."""

import pytest
from cuda_programs import compiled, needs_clang, nvcc, output_of, run

pytestmark = needs_clang

CHECK = """
#include <cstdio>
#define TRUE(condition) \\
    if (!(condition)) printf("line %d, thread %d: %s\\n", __LINE__, int(threadIdx.x), #condition);
"""

SHUFFLES = """
template <typename T>
__device__ void shuffle(T scale) {
    const int lane = threadIdx.x;
    const T value = T(lane) * scale;
    TRUE(__shfl_sync(~0u, value, 5) == T(5) * scale)
    TRUE(__shfl_sync(~0u, value, lane + 1) == T((lane + 1) % 32) * scale)
    TRUE(__shfl_sync(~0u, value, 3, 8) == T(lane / 8 * 8 + 3) * scale)
    TRUE(__shfl_up_sync(~0u, value, 2) == T(lane < 2 ? lane : lane - 2) * scale)
    TRUE(__shfl_up_sync(~0u, value, 3, 16) == T(lane % 16 < 3 ? lane : lane - 3) * scale)
    TRUE(__shfl_down_sync(~0u, value, 4) == T(lane > 27 ? lane : lane + 4) * scale)
    TRUE(__shfl_down_sync(~0u, value, 1, 4) == T(lane % 4 == 3 ? lane : lane + 1) * scale)
    TRUE(__shfl_xor_sync(~0u, value, 16) == T(lane ^ 16) * scale)
    TRUE(__shfl_xor_sync(~0u, value, 1, 2) == T(lane ^ 1) * scale)
}
template <typename T>
__device__ void match(T a, T b) {
    const int lane = threadIdx.x;
    int all = 7;
    TRUE(__match_any_sync(~0u, lane % 2 ? a : b) == (lane % 2 ? 0xaaaaaaaau : 0x55555555u))
    TRUE(__match_all_sync(~0u, lane == 3 ? a : b, &all) == 0 && all == 0)
    TRUE(__match_all_sync(~0u, a, &all) == ~0u && all == 1)
}
__global__ void kernel() {
    const int lane = threadIdx.x;
    shuffle(3);
    shuffle(3u << 28);
    shuffle(-5L * (1L << 33));
    shuffle(5UL << 40);
    shuffle(-7LL * (1LL << 35));
    shuffle(7ULL << 50);
    shuffle(1.25f);
    shuffle(1.1);
    match(1, 2);
    match(1u, 2u);
    match(1L << 40, 1L << 41);
    match(1UL << 40, 1UL << 41);
    match(1LL << 40, 1LL << 41);
    match(1ULL << 40, 1ULL << 41);
    match(0.0f, -0.0f);
    match(0.0, -0.0);
    TRUE(__ballot_sync(~0u, lane & 4) == 0xf0f0f0f0u)
    TRUE(__any_sync(~0u, lane == 9) && !__any_sync(~0u, lane == 99))
    TRUE(__all_sync(~0u, lane < 32) && !__all_sync(~0u, lane != 9))
    TRUE(__uni_sync(~0u, lane < 32) && __uni_sync(~0u, lane < 0) && !__uni_sync(~0u, lane < 3))
    TRUE(__activemask() == ~0u)
    __syncwarp();
    if (lane < 16) {
        TRUE(__ballot_sync(0xffffu, 1) == 0xffffu && __shfl_sync(0xffffu, lane, 3) == 3)
        __syncwarp(0xffffu);
    }
    __nanosleep(100);
    TRUE(__fns(0xf0u, 0, 2) == 5 && __fns(0xf0u, 7, -2) == 6 && __fns(0xf0u, 4, 0) == 4)
    TRUE(__fns(0xf0u, 0, 5) == ~0u && __fns(0xf0u, 0, (int)0x80000000) == ~0u)
    TRUE(__syncthreads_count(lane < 3) == 3 && __syncthreads_and(1) && !__syncthreads_and(lane != 7))
    TRUE(__syncthreads_or(lane == 7) && !__syncthreads_or(0))
    const clock_t before = clock();
    const long long wide = clock64();
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    TRUE(clock64() >= wide && sizeof before == sizeof clock())
}
int main() {
    kernel<<<1, 32>>>();
    cudaDeviceSynchronize();
    puts("end");
}
"""

REDUCTIONS = """
__global__ void kernel() {
    const int lane = threadIdx.x;
    TRUE(__reduce_add_sync(~0u, lane - 3) == 400 && __reduce_add_sync(~0u, (unsigned)lane) == 496)
    TRUE(__reduce_min_sync(~0u, lane - 3) == -3 && __reduce_max_sync(~0u, lane - 40) == -9)
    TRUE(__reduce_min_sync(~0u, lane - 3u) == 0 && __reduce_max_sync(~0u, lane - 3u) == ~0u)
    TRUE(__reduce_and_sync(~0u, lane | 64u) == 64 && __reduce_or_sync(~0u, 1u << lane) == ~0u)
    TRUE(__reduce_xor_sync(~0u, lane == 5 ? 12u : 0u) == 12)
    if (lane < 4) TRUE(__reduce_add_sync(0xfu, lane) == 6)
}
int main() {
    kernel<<<1, 32>>>();
    cudaDeviceSynchronize();
    puts("end");
}
"""

MEMORY = """
template <typename T>
__device__ bool same(T a, T b) {
    const unsigned char *p = (const unsigned char*)&a, *q = (const unsigned char*)&b;
    for (int i = 0; i < int(sizeof(T)); ++i)
        if (p[i] != q[i]) return false;
    return true;
}
template <typename T>
__device__ void loads_and_stores(T* place, T value) {
    const T nothing = T();
#define STORED(store)              \\
    *place = nothing;              \\
    store(place, value);           \\
    TRUE(same(*place, value))
    STORED(__stcg)
    STORED(__stcs)
    STORED(__stwb)
    STORED(__stwt)
    TRUE(same(__ldg(place), value) && same(__ldcg(place), value) && same(__ldca(place), value))
    TRUE(same(__ldcs(place), value) && same(__ldlu(place), value) && same(__ldcv(place), value))
}
__device__ int variable;
__constant__ int constant = 3;
__global__ void kernel(void* memory) {
    __shared__ int shared[4];
    int local = 5;
#define ALL(type, ...) loads_and_stores((type*)memory, type __VA_ARGS__);
    ALL(char, (1)) ALL(float, (1.5f)) ALL(double, (2.5)) ALL(int, (-3)) ALL(short, (-4)) ALL(long, (5L << 40))
    loads_and_stores((signed char*)memory, (signed char)-1);
    loads_and_stores((unsigned char*)memory, (unsigned char)200);
    loads_and_stores((unsigned short*)memory, (unsigned short)60000);
    loads_and_stores((unsigned int*)memory, 4000000000u);
    loads_and_stores((unsigned long*)memory, 1UL << 63);
    loads_and_stores((long long*)memory, -5LL);
    loads_and_stores((unsigned long long*)memory, 1ULL << 63);
    ALL(char2, {1, -2}) ALL(char4, {1, 2, -3, 4}) ALL(uchar2, {1, 200}) ALL(uchar4, {1, 2, 3, 200})
    ALL(short2, {1, -2}) ALL(short4, {1, 2, 3, -4}) ALL(ushort2, {1, 60000}) ALL(ushort4, {1, 2, 3, 60000})
    ALL(int2, {1, -2}) ALL(int4, {1, 2, 3, -4}) ALL(uint2, {1, 2}) ALL(uint4, {1, 2, 3, 4000000000u})
    ALL(longlong2, {1, -2}) ALL(ulonglong2, {1, 1ULL << 63}) ALL(float2, {1, -2}) ALL(float4, {1, 2, 3, -4})
    ALL(double2, {1, -2})
    TRUE(__isGlobal(memory) && __isGlobal(&variable) && !__isGlobal(shared) && !__isGlobal(&local))
    TRUE(__isShared(shared) && !__isShared(memory) && __isLocal(&local) && !__isLocal(shared))
    shared[1] = 17;
    const size_t address = __cvta_generic_to_shared(shared);
    TRUE(__cvta_shared_to_generic(address) == shared)
    TRUE(__cvta_shared_to_generic((unsigned int)address) == shared)
    TRUE(*(int*)__cvta_shared_to_generic(address + 4) == 17)
    TRUE(__cvta_global_to_generic(__cvta_generic_to_global(memory)) == memory)
    TRUE(__cvta_local_to_generic(__cvta_generic_to_local(&local)) == &local)
    TRUE(__cvta_constant_to_generic(__cvta_generic_to_constant(&constant)) == &constant)
    __builtin_assume(__isGlobal(memory));
}
int main() {
    void* memory;
    cudaMalloc(&memory, 64);
    kernel<<<1, 1>>>(memory);
    cudaDeviceSynchronize();
    puts("end");
}
"""


def test_shuffles_votes_matches_and_barriers(tmp_path):
    assert output_of(CHECK + SHUFFLES, tmp_path) == "end\n"


def test_reductions(tmp_path):
    assert output_of(CHECK + REDUCTIONS, tmp_path, "-arch=sm_80") == "end\n"


def test_cache_hints_and_address_spaces(tmp_path):
    assert output_of(CHECK + MEMORY, tmp_path) == "end\n"


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("__shfl(1, 2)", "__shfl_sync(mask, ...)"),
        ("__shfl_up(1, 2, 16)", "__shfl_up_sync(mask, ...)"),
        ("__shfl_down(1.5f, 2u)", "__shfl_down_sync(mask, ...)"),
        ("__shfl_xor(1, 2)", "__shfl_xor_sync(mask, ...)"),
        ("__any(1)", "__any_sync(mask, predicate)"),
        ("__all(1)", "__all_sync(mask, predicate)"),
        ("__ballot(1)", "__ballot_sync(mask, predicate)"),
    ],
)
def test_functions_without_a_mask_name_their_successor(tmp_path, call, instead):
    (tmp_path / "old.cu").write_text(f"__global__ void kernel() {{ {call}; }}\n")
    result = nvcc("-c", "old.cu", cwd=tmp_path)
    assert result.returncode != 0
    assert (
        f"does not exist for compute capability 7.0 and higher; use {instead}, or compile with -arch=sm_60"
        in result.stderr
    )
    assert "old.cu:1" in result.stderr


WITHOUT_MASK = """
__device__ double __shfl_down(double value, unsigned int offset) { return value + offset; }  // a program's own
template <typename T> __device__ T warp_sum(T value) {
#pragma unroll
    for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
    return value;
}
__device__ int counter;
__global__ void kernel(int* sums) {
    const int lane = threadIdx.x % 32;
    TRUE(__ballot(lane % 3 == 0) == 0x49249249u && __any(lane == 7) == 1 && __all(lane >= 0) == 1 && __all(lane) == 0)
    TRUE(__shfl(10 * lane, 5) == 50 && __shfl(1.5f * lane, 1, 8) == 1.5f * (lane / 8 * 8 + 1))
    TRUE(__shfl_up(lane, 1) == (lane ? lane - 1 : 0) && __shfl_xor(3u * lane, 16) == 3u * (lane ^ 16))
    TRUE(__shfl((long long)lane << 40, 3) == 3ll << 40 && __shfl_down(0.5, 2) == 2.5 && __shfl_xor(0.5 * lane, 1) == 0.5 * (lane ^ 1))
    const int sum = warp_sum(lane);
    if (lane == 0) sums[threadIdx.x / 32] = sum;
    // A lane that has more to do before.
    int base = -1;
    if (lane == 3) base = atomicAdd(&counter, 32);
    base = __shfl(base, 3);
    TRUE(base == 0 || base == 32)
    // Lanes of one branch: each calls with the others of it.
    if (lane < 12) {
        TRUE(__ballot(1) == 0xFFFu && __shfl_xor(lane, 1) == (lane ^ 1))
    } else {
        TRUE(__ballot(lane > 20) == 0xFFE00000u)
    }
}
int main() {
    int *sums, host[2];
    cudaMalloc(&sums, sizeof host);
    kernel<<<1, 64>>>(sums);
    cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d %d\\n", host[0], host[1]);
}
"""


@pytest.mark.parametrize("architecture", ["sm_13", "sm_61"])
def test_functions_without_a_mask_on_architectures_that_have_them(tmp_path, architecture):
    program = compiled(CHECK + WITHOUT_MASK, tmp_path, "-w", "-arch", architecture)
    for policy in ("forward", "reverse", "lockstep", "pct"):
        assert run(program, CUDASIM_POLICY=policy).stdout == "496 496\n"


def test_a_program_may_have_its_own_function_of_an_old_name(tmp_path):
    source = """
    __device__ float __shfl(float value, int lane) { return __shfl_sync(~0u, value, lane); }
    __global__ void kernel(float* out) { *out = __shfl(1.0f, 3); }
    int main() {}
    """
    compiled(source, tmp_path)


DIVERGENT = """
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;
__global__ void sum_of_some(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x < 16)
        for (int step = 8; step > 0; step /= 2)
            v += __shfl_down_sync(0xffffffff, v, step);  // 1
    out[threadIdx.x] = v;
}
__global__ void tile(int* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (warp.thread_rank() % 2 == 0)
        out[threadIdx.x] = warp.ballot(threadIdx.x > 3);  // 2
    out[threadIdx.x] += 1;
}
__global__ void strides(int* out, int n) {
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += __any_sync(0xffffffff, i == 5);  // 3
    out[threadIdx.x] = sum;
}
__global__ void mask_of_some(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x % 32 < 16)
        v += __shfl_down_sync(0xffff, v, 8, 16);
    out[threadIdx.x] = v;
}
__global__ void guarded(int* out, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    out[i] = __ballot_sync(0xffffffff, i % 2);
}
__global__ void whole_warps(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x < 32) v = __shfl_xor_sync(0xffffffff, v, 1);
    out[threadIdx.x] = v;
}
__global__ void all_in_one_branch(int* out, int n) {
    int v = threadIdx.x;
    if (n > 3) v = __shfl_xor_sync(0xffffffff, v, 1);
    out[threadIdx.x] = v;
}
__global__ void found(int* out) {
    unsigned some = __ballot_sync(0xffffffff, threadIdx.x % 3 == 0);
    if (some >> threadIdx.x % 32 & 1) out[threadIdx.x] = __shfl_sync(some, threadIdx.x, __ffs(some) - 1);
    out[threadIdx.x] += __popc(some);
}
int main(int, char** arguments) {
    int* out;
    cudaMalloc(&out, 256);
    cudaMemset(out, 0, 256);
    switch (std::atoi(arguments[1])) {
        case 1: sum_of_some<<<1, 64>>>(out); break;
        case 2: tile<<<1, 64>>>(out); break;
        case 3: strides<<<1, 32>>>(out, 50); break;
        case 10: mask_of_some<<<1, 64>>>(out); break;
        case 11: guarded<<<1, 64>>>(out, 40); break;
        case 12: whole_warps<<<1, 64>>>(out); break;
        case 13: all_in_one_branch<<<1, 64>>>(out, 9); break;
        case 14: found<<<1, 64>>>(out); break;
    }
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def divergent(tmp_path_factory):
    return compiled(DIVERGENT, tmp_path_factory.mktemp("divergent"))


@pytest.mark.parametrize("policy", ["forward", "reverse", "lockstep", "random"])
@pytest.mark.parametrize("which, lanes", [(1, "lanes 16-31"), (2, "lanes 1, 3, 5"), (3, "lanes 18-31")])
def test_lanes_that_go_around_an_operation_that_names_them_are_told(divergent, which, lanes, policy):
    (line,) = (n for n, text in enumerate(DIVERGENT.splitlines(), 1) if text.endswith(f"// {which}"))
    done = run(divergent, str(which), CUDASIM_POLICY=policy)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("divergent-lanes") == 1 and f"program.cu:{line}" in done.stderr, done.stderr
    assert f"the mask 0xffffffff of this warp operation names {lanes}" in done.stderr, done.stderr


@pytest.mark.parametrize("policy", ["forward", "reverse", "lockstep", "random"])
@pytest.mark.parametrize("which", [10, 11, 12, 13, 14])
def test_operations_of_all_that_have_not_ended_are_right(divergent, which, policy):
    done = run(divergent, str(which), CUDASIM_POLICY=policy)
    assert (done.returncode, done.stderr) == (0, "")
