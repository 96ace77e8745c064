// Sum of two vectors: the first CUDA program.
//
//     cudasim run examples/cuda/vector_add.cu
#include <cstdio>
#include <vector>

__global__ void add(const float* a, const float* b, float* sum, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

int main() {
    const int n = 10000;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n), b(n), sum(n);
    for (int i = 0; i < n; ++i) {
        a[i] = i;
        b[i] = 2.0f * i;
    }

    float *device_a, *device_b, *device_sum;
    cudaMalloc(&device_a, bytes);
    cudaMalloc(&device_b, bytes);
    cudaMalloc(&device_sum, bytes);
    cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice);

    const int threads = 256;
    add<<<(n + threads - 1) / threads, threads>>>(device_a, device_b, device_sum, n);
    const cudaError_t error = cudaMemcpy(sum.data(), device_sum, bytes, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        return 1;
    }
    cudaFree(device_a);
    cudaFree(device_b);
    cudaFree(device_sum);

    for (int i = 0; i < n; ++i)
        if (sum[i] != 3.0f * i) {
            printf("sum[%d] is %g, not %g\n", i, sum[i], 3.0f * i);
            return 1;
        }
    printf("vector_add: %d sums, all right\n", n);
}
