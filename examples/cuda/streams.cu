// A filter over a long signal in pieces: each of four streams copies its piece to the device, filters it
// and copies it back, while the others do the same. The weights lie in constant memory, the signal in
// pinned memory.
//
//     cudasim run examples/cuda/streams.cu
#include <cmath>

#include "check.h"

constexpr int radius = 4;
constexpr int threads = 128;

__constant__ float weights[2 * radius + 1];

/// @param signal  begins `radius` values before the first one to filter
__global__ void filter(const float* signal, float* filtered, int n) {
    __shared__ float staged[threads + 2 * radius];
    const int first = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < threads + 2 * radius && first + i < n + 2 * radius; i += blockDim.x)
        staged[i] = signal[first + i];
    __syncthreads();
    if (first + threadIdx.x >= n) return;
    float sum = 0;
    for (int i = 0; i <= 2 * radius; ++i) sum += weights[i] * staged[threadIdx.x + i];
    filtered[first + threadIdx.x] = sum;
}

int main() {
    const int streams = 4, piece = 5000, n = streams * piece, with_ends = n + 2 * radius;
    float host_weights[2 * radius + 1];
    for (int i = 0; i <= 2 * radius; ++i) host_weights[i] = std::exp(-0.1f * (i - radius) * (i - radius));
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));

    float *signal, *filtered, *device_signal, *device_filtered;
    CHECK(cudaMallocHost(&signal, with_ends * sizeof(float)));
    CHECK(cudaMallocHost(&filtered, n * sizeof(float)));
    CHECK(cudaMalloc(&device_signal, streams * (piece + 2 * radius) * sizeof(float)));
    CHECK(cudaMalloc(&device_filtered, n * sizeof(float)));
    for (int i = 0; i < with_ends; ++i) signal[i] = i % 100 < 50 ? 1.0f : -1.0f;

    cudaStream_t stream[streams];
    for (int s = 0; s < streams; ++s) {
        CHECK(cudaStreamCreate(&stream[s]));
        float* const in = device_signal + s * (piece + 2 * radius);
        float* const out = device_filtered + s * piece;
        CHECK(cudaMemcpyAsync(in, signal + s * piece, (piece + 2 * radius) * sizeof(float),
                              cudaMemcpyHostToDevice, stream[s]));
        filter<<<(piece + threads - 1) / threads, threads, 0, stream[s]>>>(in, out, piece);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(filtered + s * piece, out, piece * sizeof(float), cudaMemcpyDeviceToHost,
                              stream[s]));
    }
    for (cudaStream_t each : stream) {
        CHECK(cudaStreamSynchronize(each));
        CHECK(cudaStreamDestroy(each));
    }

    for (int i = 0; i < n; ++i) {
        float sum = 0;
        for (int k = 0; k <= 2 * radius; ++k) sum += host_weights[k] * signal[i + k];
        if (std::abs(filtered[i] - sum) > 1e-5f) {
            printf("value %d: %g, not %g\n", i, filtered[i], sum);
            return 1;
        }
    }
    printf("streams: %d values in %d pieces, equal to the host's\n", n, streams);
    CHECK(cudaFreeHost(signal));
    CHECK(cudaFreeHost(filtered));
    CHECK(cudaFree(device_signal));
    CHECK(cudaFree(device_filtered));
}
