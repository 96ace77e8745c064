// A bug: an average over groups, one of which is empty.
//
//     cudasim run examples/cuda/bug_division_by_zero.cu
//
// The report names the thread and the line. The default checks find it. A GPU goes on with a number that
// means nothing.
#include "check.h"

__global__ void averages(const int* sums, const int* counts, int* result) {
    const int group = blockIdx.x * blockDim.x + threadIdx.x;
    result[group] = sums[group] / counts[group];
}

int main() {
    const int groups = 64;
    int sums[groups], counts[groups];
    for (int i = 0; i < groups; ++i) {
        sums[i] = 100 * i;
        counts[i] = (i + 3) % 50;  // group 47 is empty
    }
    int *device_sums, *device_counts, *result;
    CHECK(cudaMalloc(&device_sums, sizeof sums));
    CHECK(cudaMalloc(&device_counts, sizeof counts));
    CHECK(cudaMalloc(&result, sizeof sums));
    CHECK(cudaMemcpy(device_sums, sums, sizeof sums, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_counts, counts, sizeof counts, cudaMemcpyHostToDevice));
    averages<<<2, 32>>>(device_sums, device_counts, result);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(device_sums));
    CHECK(cudaFree(device_counts));
    CHECK(cudaFree(result));
}
