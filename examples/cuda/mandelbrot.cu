// The Mandelbrot set as text: a grid of two dimensions, and a class template that host and device share.
//
//     cudasim run examples/cuda/mandelbrot.cu
#include <vector>

#include "check.h"

template <typename T>
struct Complex {
    T real, imaginary;

    __host__ __device__ Complex operator+(Complex other) const {
        return {real + other.real, imaginary + other.imaginary};
    }
    __host__ __device__ Complex operator*(Complex other) const {
        return {real * other.real - imaginary * other.imaginary,
                real * other.imaginary + imaginary * other.real};
    }
    __host__ __device__ T square() const { return real * real + imaginary * imaginary; }
};

__host__ __device__ int steps_to_escape(Complex<double> c, int limit) {
    Complex<double> z = {0, 0};
    for (int step = 0; step < limit; ++step) {
        if (z.square() > 4) return step;
        z = z * z + c;
    }
    return limit;
}

__host__ __device__ Complex<double> at(int x, int y, int width, int height) {
    return {-2.2 + 3.2 * x / width, -1.2 + 2.4 * y / height};
}

__global__ void mandelbrot(unsigned char* steps, int width, int height, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) steps[y * width + x] = steps_to_escape(at(x, y, width, height), limit);
}

int main() {
    const int width = 78, height = 31, limit = 100;
    unsigned char* device_steps;
    CHECK(cudaMalloc(&device_steps, width * height));
    const dim3 threads(16, 8);
    const dim3 blocks((width + threads.x - 1) / threads.x, (height + threads.y - 1) / threads.y);
    mandelbrot<<<blocks, threads>>>(device_steps, width, height, limit);
    CHECK(cudaGetLastError());
    std::vector<unsigned char> steps(width * height);
    CHECK(cudaMemcpy(steps.data(), device_steps, steps.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_steps));

    int inside = 0, different = 0;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const int taken = steps[y * width + x];
            putchar(taken == limit ? '#' : " .:-=+*"[taken < 6 ? taken : 6]);
            inside += taken == limit;
            // Near the edge the last bit of a product decides, and devices fuse products with sums.
            different += taken != steps_to_escape(at(x, y, width, height), limit);
        }
        putchar('\n');
    }
    if (different > width * height / 100) {
        printf("%d points differ from the host's\n", different);
        return 1;
    }
    printf("mandelbrot: %d of %d points belong to the set\n", inside, width * height);
}
