// A bug: the threads of a block that reverse an array in shared memory write one element past its end.
//
//     cudasim run examples/cuda/bug_shared_out_of_bounds.cu
//
// The report names the thread, the line and the array. The default checks find it. A GPU often says
// nothing: it overwrites whatever lies there.
#include "check.h"

__global__ void reverse(int* values) {
    __shared__ int reversed[64];
    reversed[blockDim.x - threadIdx.x] = values[threadIdx.x];  // thread 0 writes reversed[64]
    __syncthreads();
    values[threadIdx.x] = reversed[threadIdx.x];
}

int main() {
    int* values;
    CHECK(cudaMalloc(&values, 64 * sizeof(int)));
    CHECK(cudaMemset(values, 0, 64 * sizeof(int)));
    reverse<<<1, 64>>>(values);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}
