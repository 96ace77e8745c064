// Heat in a rod. All steps happen in one cooperative launch: its blocks wait for each other between two
// steps. The host reads the result from managed memory.
//
//     cudasim run examples/cuda/heat_equation.cu
#include <cooperative_groups.h>

#include <cmath>
#include <utility>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__host__ __device__ float next(const float* now, int i) {
    return now[i] + 0.25f * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

__global__ void diffuse(float* now, float* later, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (unsigned long long i = grid.thread_rank() + 1; i < n - 1; i += grid.num_threads())
            later[i] = next(now, i);
        grid.sync();
        float* const other = now;
        now = later;
        later = other;
    }
}

int main() {
    int n = 2000, steps = 100;
    float *now, *later;
    CHECK(cudaMallocManaged(&now, n * sizeof(float)));
    CHECK(cudaMallocManaged(&later, n * sizeof(float)));
    std::vector<float> expected(n, 0.0f);
    expected.front() = 100;
    expected.back() = 50;
    for (int i = 0; i < n; ++i) now[i] = later[i] = expected[i];

    const int threads = 128;
    int blocks_per_multiprocessor = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_multiprocessor, diffuse, threads, 0));
    if (blocks_per_multiprocessor == 0) return 1;
    void* arguments[] = {&now, &later, &n, &steps};
    CHECK(cudaLaunchCooperativeKernel((void*)diffuse, dim3(4), dim3(threads), arguments));
    CHECK(cudaDeviceSynchronize());

    std::vector<float> other = expected;
    for (int step = 0; step < steps; ++step) {
        for (int i = 1; i < n - 1; ++i) other[i] = next(expected.data(), i);
        std::swap(expected, other);
    }
    for (int i = 0; i < n; ++i)  // after an even number of steps
        if (std::abs(now[i] - expected[i]) > 1e-4f) {
            printf("place %d: %g, not %g\n", i, now[i], expected[i]);
            return 1;
        }
    printf("heat_equation: %d steps, equal to the host's\n", steps);
    CHECK(cudaFree(now));
    CHECK(cudaFree(later));
}
