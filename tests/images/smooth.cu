// One kernel with everything that an image must carry besides arithmetic: a template device function,
// __constant__ data, a __device__ pointer initialised with an address, a virtual call, shared memory with a
// barrier, and atomics. images_test.cpp compiles it with clang and runs it; see there for what it computes.
#include "cuda_keywords.h"

constexpr int threads = 64;

__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};
__device__ int counters[4];
__device__ int* large_values = &counters[3];

struct Filter {
    __device__ virtual float apply(const float* centre) const { return centre[0]; }
};

struct Smooth : Filter {
    __device__ float apply(const float* centre) const override {
        float sum = 0;
        for (int i = 0; i < 3; ++i) sum += weights[i] * centre[i - 1];
        return sum;
    }
};

template <typename Value, int first, int last>
__device__ Value clamped(Value value) {
    if (value < Value(first)) return Value(first);
    return value > Value(last) ? Value(last) : value;
}

__device__ float at(const float* values, int i, int n) {
    return values[i < 0 ? 0 : i >= n ? n - 1 : i];
}

extern "C" __global__ void smooth(const float* values, float* result, int n, int use_smooth) {
    __shared__ float tile[threads + 2];
    const int i = block_index() * block_size() + thread_index();
    const int place = thread_index() + 1;
    tile[place] = at(values, i, n);
    if (thread_index() == 0) tile[0] = at(values, i - 1, n);
    if (thread_index() == threads - 1) tile[threads + 1] = at(values, i + 1, n);
    __syncthreads();

    Filter plain;
    Smooth smoothing;
    const Filter* filter = use_smooth ? &smoothing : &plain;
    if (i >= n) return;
    const float filtered = filter->apply(&tile[place]);
    if (filtered > 100) atomic_add(large_values, 1);
    atomic_add(&counters[i % 3], 1);
    result[i] = clamped<float, 0, 100>(filtered);  // the store that leaves its bounds in the second test
}

extern "C" __global__ void read_counters(int* result) {
    result[thread_index()] = counters[thread_index()];
}
