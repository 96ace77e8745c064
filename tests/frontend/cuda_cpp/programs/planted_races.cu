// Twins of lock_free.cu with one bug each. The lines of both accesses, or the one line, are marked by the
// number that the program is given.
#include <cstdlib>

__device__ int counter, other;
__device__ unsigned count;
__device__ int partial[8], result;
__device__ volatile int word;

__global__ void the_value_is_used_otherwise(int* out) {
    int old = counter, assumed;  // 0
    out[blockIdx.x * blockDim.x + threadIdx.x] = old;
    do {
        assumed = old;
        old = atomicCAS(&counter, assumed, assumed + 3);  // 0
    } while (old != assumed);
}
__global__ void another_word_is_swapped(int*) {
    int old = counter, assumed;  // 1
    do {
        assumed = old;
        old = atomicCAS(&other, assumed, assumed + 1);
    } while (old != assumed);
    atomicAdd(&counter, 1);  // 1
}
__global__ void no_fence_before_the_ticket(int*) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = 2;  // 2
    if (atomicInc(&count, gridDim.x) == gridDim.x - 1) {
        int sum = 0;
        for (int i = 0; i < 8; ++i) sum += partial[i];  // 2
        result = sum;
        count = 0;
    }
}
__global__ void a_ticket_that_is_not_the_last(int*) {
    if (threadIdx.x != 0) return;
    const unsigned rank = atomicAdd(&count, 1u);  // 3
    if (rank == 5) count = 0;                     // 3
}
__global__ void no_ticket_decides(int* out) {
    if (threadIdx.x != 0) return;
    out[blockIdx.x] = atomicAdd(&count, 1u);         // 4
    if (blockIdx.x == gridDim.x - 1) count = 0;      // 4
}
__global__ void a_message_that_nobody_polls(int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) word = out[0] + 5;          // 5
    else out[blockIdx.x] = word;                     // 5
}

int main(int, char** arguments) {
    void (*const kernels[])(int*) = {the_value_is_used_otherwise, another_word_is_swapped,
                                     no_fence_before_the_ticket,  a_ticket_that_is_not_the_last,
                                     no_ticket_decides,           a_message_that_nobody_polls};
    int* out;
    cudaMalloc(&out, 8 * 64 * sizeof(int));
    cudaMemset(out, 0, 8 * 64 * sizeof(int));
    kernels[std::atoi(arguments[1])]<<<8, 64>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}
