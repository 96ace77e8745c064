// Sum and largest value of an array with cooperative groups: each warp reduces its values, and its first
// thread adds the result to those of the others.
//
//     cudasim run examples/cuda/reduction.cu
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

struct Result {
    unsigned long long sum;
    int largest;
};

__global__ void reduce(const int* values, int n, Result* result) {
    const cg::grid_group grid = cg::this_grid();
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    unsigned long long sum = 0;
    int largest = 0;
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.num_threads()) {
        sum += values[i];
        largest = max(largest, values[i]);
    }
    sum = cg::reduce(warp, sum, cg::plus<unsigned long long>());
    largest = cg::reduce(warp, largest, cg::greater<int>());
    cg::invoke_one(warp, [&] {
        atomicAdd(&result->sum, sum);
        atomicMax(&result->largest, largest);
    });
}

int main() {
    const int n = 100000;
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i) values[i] = i * 7919LL % 1000003;

    int* device_values;
    Result* device_result;
    CHECK(cudaMalloc(&device_values, n * sizeof(int)));
    CHECK(cudaMalloc(&device_result, sizeof(Result)));
    CHECK(cudaMemcpy(device_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_result, 0, sizeof(Result)));

    reduce<<<32, 256>>>(device_values, n, device_result);
    Result result;
    CHECK(cudaMemcpy(&result, device_result, sizeof(Result), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_values));
    CHECK(cudaFree(device_result));

    const auto sum = std::accumulate(values.begin(), values.end(), 0ULL);
    const int largest = *std::max_element(values.begin(), values.end());
    if (result.sum != sum || result.largest != largest) {
        printf("sum %llu, not %llu; largest %d, not %d\n", result.sum, sum, result.largest, largest);
        return 1;
    }
    printf("reduction: the sum is %llu, the largest value %d\n", sum, largest);
}
