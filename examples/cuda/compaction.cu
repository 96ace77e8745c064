// The numbers of an array that a test accepts, side by side. The threads of a warp that have one to add ask
// for their places together: one atomic operation serves them all. The test is a function object that the
// kernel is compiled for.
//
//     cudasim run examples/cuda/compaction.cu
#include <cooperative_groups.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

struct IsPrime {
    __host__ __device__ bool operator()(int x) const {
        if (x < 2) return false;
        for (int divisor = 2; divisor * divisor <= x; ++divisor)
            if (x % divisor == 0) return false;
        return true;
    }
};

__device__ int next_place(int* count) {
    const cg::coalesced_group together = cg::coalesced_threads();
    int first = 0;
    if (together.thread_rank() == 0) first = atomicAdd(count, together.num_threads());
    return together.shfl(first, 0) + together.thread_rank();
}

template <typename Test>
__global__ void keep(const int* values, int n, int* kept, int* count, Test test) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && test(values[i])) kept[next_place(count)] = values[i];
}

int main() {
    const int n = 5000;
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i) values[i] = i * 37 % n;

    int *device_values, *device_kept, *device_count;
    CHECK(cudaMalloc(&device_values, n * sizeof(int)));
    CHECK(cudaMalloc(&device_kept, n * sizeof(int)));
    CHECK(cudaMalloc(&device_count, sizeof(int)));
    CHECK(cudaMemcpy(device_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_count, 0, sizeof(int)));
    keep<<<(n + 127) / 128, 128>>>(device_values, n, device_kept, device_count, IsPrime());
    int count = 0;
    CHECK(cudaMemcpy(&count, device_count, sizeof(int), cudaMemcpyDeviceToHost));
    std::vector<int> kept(count);
    CHECK(cudaMemcpy(kept.data(), device_kept, count * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_values));
    CHECK(cudaFree(device_kept));
    CHECK(cudaFree(device_count));

    std::vector<int> expected;
    std::copy_if(values.begin(), values.end(), std::back_inserter(expected), IsPrime());
    std::sort(expected.begin(), expected.end());
    std::sort(kept.begin(), kept.end());  // warps come in any order
    if (kept != expected) {
        printf("%zu numbers are kept, not %zu\n", kept.size(), expected.size());
        return 1;
    }
    printf("compaction: %d of %d numbers are prime\n", count, n);
}
