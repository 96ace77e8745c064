"""Atomic functions of every type and scope."""

from cuda_programs import needs_clang, output_of

pytestmark = needs_clang

PROGRAM = """
#include <cstdio>
#include <cstring>
#define TRUE(condition) \\
    if (!(condition)) printf("line %d, %s: %s\\n", __LINE__, name, #condition);

#define SCOPES(X, ...) X(, __VA_ARGS__) X(_block, __VA_ARGS__) X(_system, __VA_ARGS__)

// Every thread of a block updates a word of shared memory and one of global memory.
#define KERNEL(scope, function, type, first, argument, last)                           \\
    {                                                                                  \\
        const char* const name = #function #scope " of " #type;                        \\
        __shared__ type shared;                                                        \\
        if (threadIdx.x == 0) shared = first, *(type*)memory = first;                  \\
        __syncthreads();                                                               \\
        const type i = (type)(threadIdx.x);                                              \\
        (void)i;                                                                       \\
        function##scope(&shared, (type)(argument));                                      \\
        function##scope((type*)memory, (type)(argument));                                \\
        __syncthreads();                                                               \\
        if (threadIdx.x == 0) {                                                        \\
            TRUE(shared == (type)(last))                                                 \\
            TRUE(*(type*)memory == (type)(last))                                         \\
        }                                                                              \\
        __syncthreads();                                                                 \\
    }
#define ALL(function, type, ...) SCOPES(KERNEL, function, type, __VA_ARGS__)

__global__ void updates(void* memory) {
    ALL(atomicAdd, int, -5, i, 2011)
    ALL(atomicAdd, unsigned int, 4294967290u, i, 2010)
    ALL(atomicAdd, unsigned long long, 1ULL << 40, i << 35, (1ULL << 40) + (2016ULL << 35))
    ALL(atomicAdd, float, 0.5f, i, 2016.5f)
    ALL(atomicAdd, double, 1e9, i / 2, 1e9 + 1008)
    ALL(atomicSub, int, -5, i, -2021)
    ALL(atomicSub, unsigned int, 5, i, 5u - 2016u)
    ALL(atomicMin, int, 3, 10 - i, -53)
    ALL(atomicMax, int, -300, i - 70, -7)
    ALL(atomicMin, unsigned int, 4000000000u, 4000000063u - i, 4000000000u)
    ALL(atomicMin, unsigned int, ~0u, i + 3000000000u, 3000000000u)
    ALL(atomicMax, unsigned int, 1, i + 3000000000u, 3000000063u)
    ALL(atomicMin, long long, 3, -(i << 40), -(63LL << 40))
    ALL(atomicMax, long long, -5, i << 40, 63LL << 40)
    ALL(atomicMin, unsigned long long, ~0ULL, (1ULL << 63) + i, 1ULL << 63)
    ALL(atomicMax, unsigned long long, 1, (1ULL << 63) + i, (1ULL << 63) + 63)
    ALL(atomicAnd, int, -1, ~(1 << (i % 31)), 1 << 31)
    ALL(atomicAnd, unsigned int, ~0u, ~(1u << (i % 31)), 1u << 31)
    ALL(atomicAnd, long long, -1, ~(1LL << i), 0)
    ALL(atomicAnd, unsigned long long, ~0ULL, ~(1ULL << i), 0)
    ALL(atomicOr, int, 0, 1 << (i % 31), 0x7fffffff)
    ALL(atomicOr, unsigned int, 0, 1u << (i % 32), ~0u)
    ALL(atomicOr, long long, 0, 1LL << i, -1)
    ALL(atomicOr, unsigned long long, 0, 1ULL << i, ~0ULL)
    ALL(atomicXor, int, 5, i, 5)
    ALL(atomicXor, unsigned int, 5, i + 1, 5 ^ 64)
    ALL(atomicXor, long long, 5, i << 40, 5)
    ALL(atomicXor, unsigned long long, 5, (i + 1) << 40, 5 ^ (64ULL << 40))
    ALL(atomicInc, unsigned int, 0, 9, 4)
    ALL(atomicInc, unsigned int, 50, 9, 3)
    ALL(atomicDec, unsigned int, 3, 9, 9)
    ALL(atomicDec, unsigned int, 50, 9, 6)
}

// What the functions return: one thread, so that it is known.
#define RETURNED(scope, function, type, first, argument, last)          \\
    {                                                                   \\
        const char* const name = #function #scope " of " #type;         \\
        type* const place = (type*)memory;                              \\
        *place = first;                                                 \\
        TRUE(function##scope(place, (type)(argument)) == (type)(first))     \\
        TRUE(*place == (type)(last))                                      \\
    }
#define EXCHANGED(scope, type, first, compare, argument, last)                                 \\
    {                                                                                          \\
        const char* const name = "atomicCAS" #scope " of " #type;                              \\
        type* const place = (type*)memory;                                                     \\
        *place = first;                                                                        \\
        TRUE(atomicCAS##scope(place, (type)(compare), (type)(argument)) == (type)(first))            \\
        TRUE(*place == (type)(last))                                                             \\
    }
#define ONE(function, type, ...) SCOPES(RETURNED, function, type, __VA_ARGS__)
#define CAS(type, ...) SCOPES(EXCHANGED, type, __VA_ARGS__)
struct alignas(16) Pair {
    long long a, b;
};
#define PAIRS(scope, ...)                                                              \\
    {                                                                                  \\
        const char* const name = "pairs" #scope;                                       \\
        Pair* const place = (Pair*)memory;                                             \\
        *place = Pair{1, 2};                                                           \\
        Pair seen = atomicCAS##scope(place, Pair{1, 3}, Pair{8, 9});                   \\
        TRUE(seen.a == 1 && seen.b == 2 && place->a == 1 && place->b == 2)             \\
        seen = atomicCAS##scope(place, Pair{1, 2}, Pair{8, 9});                        \\
        TRUE(seen.a == 1 && seen.b == 2 && place->a == 8 && place->b == 9)             \\
        seen = atomicExch##scope(place, Pair{5, 6});                                   \\
        TRUE(seen.a == 8 && seen.b == 9 && place->a == 5 && place->b == 6)             \\
    }
#define VECTORS(scope, ...)                                                            \\
    {                                                                                  \\
        const char* const name = "vectors" #scope;                                     \\
        float4* const place = (float4*)memory;                                         \\
        *place = make_float4(1, 2, 3, 4);                                              \\
        float4 seen = atomicAdd##scope(place, make_float4(10, 20, 30, 40));            \\
        TRUE(seen.x == 1 && seen.y == 2 && seen.z == 3 && seen.w == 4)                 \\
        TRUE(place->x == 11 && place->y == 22 && place->z == 33 && place->w == 44)     \\
        float2 two = atomicAdd##scope((float2*)memory, make_float2(1, 1));             \\
        TRUE(two.x == 11 && two.y == 22 && place->x == 12 && place->y == 23)           \\
    }

__global__ void returned(void* memory) {
    ONE(atomicAdd, int, 5, -7, -2)
    ONE(atomicAdd, float, 1.5f, 2, 3.5f)
    ONE(atomicAdd, double, 1.5, 2, 3.5)
    ONE(atomicAdd, unsigned long long, 1, 2, 3)
    ONE(atomicSub, int, (-2147483647 - 1), 1, 2147483647)
    ONE(atomicSub, unsigned int, 1, 2, ~0u)
    ONE(atomicExch, int, 5, 7, 7)
    ONE(atomicExch, unsigned int, 5, 7, 7)
    ONE(atomicExch, unsigned long long, 5, 1ULL << 60, 1ULL << 60)
    ONE(atomicExch, float, 1.5f, -2.5f, -2.5f)
    ONE(atomicMin, int, 5, -7, -7)
    ONE(atomicMax, unsigned int, 5, 0x80000000u, 0x80000000u)
    ONE(atomicMax, unsigned long long, 5, 3, 5)
    ONE(atomicInc, unsigned int, 9, 9, 0)
    ONE(atomicDec, unsigned int, 0, 9, 9)
    ONE(atomicXor, long long, 5, 1, 4)
    CAS(int, 5, 5, -1, -1)
    CAS(int, 5, 4, -1, 5)
    CAS(unsigned int, 5, 5, 9, 9)
    CAS(unsigned long long, 1ULL << 50, 1ULL << 50, 3, 3)
    CAS(unsigned long long, 1ULL << 50, 1, 3, 1ULL << 50)
    CAS(unsigned short, 5, 5, 60000, 60000)
    CAS(unsigned short, 5, 4, 60000, 5)
    SCOPES(PAIRS, )
    SCOPES(VECTORS, )
}

#define ORDERS(X) X(__NV_ATOMIC_RELAXED) X(__NV_ATOMIC_ACQUIRE) X(__NV_ATOMIC_RELEASE) \\
    X(__NV_ATOMIC_ACQ_REL) \\
    X(__NV_ATOMIC_SEQ_CST)
template <typename T>
__device__ void with_orders(T* place, T one, const char* name) {
    const T two = one + one, three = two + one;
    T value = one, seen;
    __nv_atomic_store_n(place, two, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
    TRUE(*place == two && __nv_atomic_load_n(place, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == two)
    __nv_atomic_store(place, &value, __NV_ATOMIC_RELAXED);
    __nv_atomic_load(place, &seen, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_CLUSTER);
    TRUE(seen == one)
    TRUE(__nv_atomic_exchange_n(place, three, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM) == one)
    __nv_atomic_exchange(place, &value, &seen, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_THREAD);
    TRUE(seen == three && *place == one)
    seen = two;
    TRUE(!__nv_atomic_compare_exchange_n(place, &seen, three, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED))
    TRUE(seen == one && *place == one)
    TRUE(__nv_atomic_compare_exchange_n(place, &seen, three, true, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_ACQUIRE,
                                        __NV_THREAD_SCOPE_DEVICE))
    TRUE(*place == three)
    seen = three;
    TRUE(__nv_atomic_compare_exchange(place, &seen, &value, false, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED))
    TRUE(*place == one)
#define ADDED(order)                                                                             \\
    TRUE(__nv_atomic_fetch_add(place, two, order, __NV_THREAD_SCOPE_DEVICE) == one)              \\
    TRUE(__nv_atomic_fetch_sub(place, two, order, __NV_THREAD_SCOPE_BLOCK) == three && *place == one) \\
    __nv_atomic_add(place, one, order);                                                          \\
    __nv_atomic_sub(place, one, order, __NV_THREAD_SCOPE_BLOCK);                                 \\
    TRUE(*place == one)
    ORDERS(ADDED)
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_thread_fence(__NV_ATOMIC_ACQUIRE);
}
template <typename T>
__device__ void with_bits(T* place, T low, const char* name) {
    *place = low;
    TRUE(__nv_atomic_fetch_min(place, T(5), __NV_ATOMIC_RELAXED) == low && *place == (low < T(5) ? low : T(5)))
    TRUE(__nv_atomic_fetch_max(place, T(9), __NV_ATOMIC_RELAXED) == (low < T(5) ? low : T(5)) && *place == T(9))
    TRUE(__nv_atomic_fetch_and(place, T(12), __NV_ATOMIC_RELAXED) == T(9) && *place == T(8))
    TRUE(__nv_atomic_fetch_or(place, T(3), __NV_ATOMIC_RELEASE) == T(8) && *place == T(11))
    TRUE(__nv_atomic_fetch_xor(place, 1, __NV_ATOMIC_ACQUIRE) == T(11) && *place == T(10))
    __nv_atomic_min(place, 3, __NV_ATOMIC_RELAXED);
    __nv_atomic_max(place, 7, __NV_ATOMIC_RELAXED);
    __nv_atomic_or(place, 8, __NV_ATOMIC_RELAXED);
    __nv_atomic_and(place, 14, __NV_ATOMIC_RELAXED);
    __nv_atomic_xor(place, 2, __NV_ATOMIC_RELAXED);
    TRUE(*place == T(12))
}
__global__ void ordered(void* memory) {
    with_orders((int*)memory, 1, "int");
    with_orders((unsigned*)memory, 1u, "unsigned");
    with_orders((unsigned long long*)memory, 1ULL << 40, "unsigned long long");
    with_bits((int*)memory, -3, "int");
    with_bits((unsigned*)memory, 0x80000000u, "unsigned");
    with_bits((long long*)memory, -3LL, "long long");
    with_bits((unsigned long long*)memory, 1ULL << 63, "unsigned long long");
    const char* const name = "other types";
    float* const real = (float*)memory;
    *real = 1.5f;
    TRUE(__nv_atomic_fetch_add(real, 2.0f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE) == 1.5f && *real == 3.5f)
    float more = 7, seen;
    __nv_atomic_exchange(real, &more, &seen, __NV_ATOMIC_RELAXED);
    TRUE(seen == 3.5f && *real == 7)
    double* const wide = (double*)memory;
    *wide = 1.5;
    TRUE(__nv_atomic_fetch_add(wide, 2.0, __NV_ATOMIC_RELAXED) == 1.5 && *wide == 3.5)
    unsigned char* const byte = (unsigned char*)memory;
    __nv_atomic_store_n(byte, 200, __NV_ATOMIC_RELAXED);
    TRUE(__nv_atomic_load_n(byte, __NV_ATOMIC_RELAXED) == 200)
    Pair pair = {1, 2}, got;
    __nv_atomic_store((Pair*)memory, &pair, __NV_ATOMIC_RELAXED);
    __nv_atomic_load((Pair*)memory, &got, __NV_ATOMIC_ACQUIRE);
    TRUE(got.a == 1 && got.b == 2)
}

// Counters that all blocks share, and a lock.
__device__ unsigned int tickets, locked, inside, done;
__device__ double total;
__global__ void shared_by_blocks() {
    const char* const name = "blocks";
    atomicAdd(&tickets, 1);
    atomicAdd(&total, 0.5);
    if (threadIdx.x == 0) {
        while (atomicCAS(&locked, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        inside += 1;
        __threadfence();
        atomicExch(&locked, 0);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) {
        __threadfence();
        TRUE(atomicAdd(&tickets, 0) == gridDim.x * blockDim.x)
        TRUE(atomicAdd(&total, 0.0) == gridDim.x * blockDim.x / 2)
        TRUE(*(volatile unsigned*)&inside == gridDim.x && done == 0)
        printf("last block\\n");
    }
}

int main() {
    void* memory;
    cudaMalloc(&memory, 64);
    updates<<<1, 64>>>(memory);
    returned<<<1, 1>>>(memory);
    ordered<<<1, 1>>>(memory);
    shared_by_blocks<<<40, 64>>>();
    cudaDeviceSynchronize();
    puts("end");
}
"""


def test_values_of_every_function_type_and_scope(tmp_path):
    assert output_of(PROGRAM, tmp_path) == "last block\nend\n"
