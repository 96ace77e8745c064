// Product of two matrices, tile by tile through shared memory. A class owns the device memory, and events
// measure the time.
//
//     cudasim run examples/cuda/matmul.cu
#include <cmath>
#include <vector>

#include "check.h"

constexpr int tile = 16;

/// A square matrix on the device, whose size is a multiple of the tile's.
class Matrix {
  public:
    explicit Matrix(int size) : size_(size) { CHECK(cudaMalloc(&values_, bytes())); }
    Matrix(int size, const std::vector<float>& values) : Matrix(size) {
        CHECK(cudaMemcpy(values_, values.data(), bytes(), cudaMemcpyHostToDevice));
    }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
    ~Matrix() { cudaFree(values_); }

    std::vector<float> on_host() const {
        std::vector<float> values(size_ * size_);
        CHECK(cudaMemcpy(values.data(), values_, bytes(), cudaMemcpyDeviceToHost));
        return values;
    }
    float* data() const { return values_; }

  private:
    size_t bytes() const { return sizeof(float) * size_ * size_; }

    int size_;
    float* values_ = nullptr;
};

__global__ void multiply(const float* a, const float* b, float* product, int size) {
    __shared__ float tile_a[tile][tile];
    __shared__ float tile_b[tile][tile];
    const int row = blockIdx.y * tile + threadIdx.y;
    const int column = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < size; first += tile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * size + first + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * size + column];
        __syncthreads();
        for (int k = 0; k < tile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    product[row * size + column] = sum;
}

int main() {
    const int size = 128;
    std::vector<float> a(size * size), b(size * size);
    for (int i = 0; i < size * size; ++i) {
        a[i] = std::sin(0.1f * i);
        b[i] = std::cos(0.2f * i);
    }
    const Matrix device_a(size, a), device_b(size, b), device_product(size);

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    const dim3 threads(tile, tile), blocks(size / tile, size / tile);
    multiply<<<blocks, threads>>>(device_a.data(), device_b.data(), device_product.data(), size);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));

    const std::vector<float> product = device_product.on_host();
    for (int row = 0; row < size; ++row)
        for (int column = 0; column < size; ++column) {
            double sum = 0;
            for (int k = 0; k < size; ++k) sum += double(a[row * size + k]) * b[k * size + column];
            if (std::abs(product[row * size + column] - sum) > 1e-4) {
                printf("row %d, column %d: %g, not %g\n", row, column, product[row * size + column], sum);
                return 1;
            }
        }
    fprintf(stderr, "%.1f ms\n", milliseconds);
    printf("matmul: %d x %d, equal to the host's\n", size, size);
}
