// A bug: threads read what others write to shared memory, and nothing orders the two.
//
//     CUDASIM_CHECK=races cudasim run examples/cuda/bug_missing_barrier.cu
//
// The report names both accesses. The results are often right all the same, on a GPU too: the bug shows
// only when warps run in an unlucky order.
#include "check.h"

__global__ void reverse(int* values) {
    __shared__ int reversed[128];
    reversed[127 - threadIdx.x] = values[threadIdx.x];
    // __syncthreads() is missing here.
    values[threadIdx.x] = reversed[threadIdx.x];
}

int main() {
    int* values;
    CHECK(cudaMalloc(&values, 128 * sizeof(int)));
    CHECK(cudaMemset(values, 0, 128 * sizeof(int)));
    reverse<<<1, 128>>>(values);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}
