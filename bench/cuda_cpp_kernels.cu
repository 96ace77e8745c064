// The kernels of bench/pocl_kernels.cl in CUDA C++: cuda_cpp_kernels NAME prints the median of seven runs in
// seconds of processor time, of one core. `launch` is a launch of an empty kernel.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#define CHECK(call)                                                                   \
    do {                                                                              \
        const cudaError_t error = (call);                                             \
        if (error != cudaSuccess) {                                                   \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));       \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

__global__ void add(const double* x, const double* y, double* out, long size) {
    const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
    if (i < size) out[i] = x[i] + y[i];
}

__global__ void matmul_naive(const double* a, const double* b, double* out, long size) {
    const long column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size || column >= size) return;
    double total = 0;
    for (long k = 0; k < size; ++k) total += a[row * size + k] * b[k * size + column];
    out[row * size + column] = total;
}

constexpr int tile = 16;

__global__ void matmul_tiled(const float* a, const float* b, float* out, long size) {
    __shared__ float tile_a[tile][tile], tile_b[tile][tile];
    const long column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    const int j = threadIdx.x, i = threadIdx.y;
    float total = 0;
    for (long first = 0; first < size; first += tile) {
        tile_a[i][j] = row < size && first + j < size ? a[row * size + first + j] : 0;
        tile_b[i][j] = first + i < size && column < size ? b[(first + i) * size + column] : 0;
        __syncthreads();
        for (int k = 0; k < tile; ++k) total += tile_a[i][k] * tile_b[k][j];
        __syncthreads();
    }
    if (row < size && column < size) out[row * size + column] = total;
}

__global__ void reduce_blocks(const float* x, float* out) {
    __shared__ float shared[256];
    const int thread = threadIdx.x;
    shared[thread] = x[blockIdx.x * 256 + thread];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (thread < step) shared[thread] += shared[thread + step];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = shared[0];
}

__global__ void count_values(const int* values, int* bins, long size) {
    const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
    if (i < size) atomicAdd(&bins[values[i]], 1);
}

__global__ void empty() {}

template <typename T>
T* on_device(const std::vector<T>& host) {
    T* memory;
    CHECK(cudaMalloc(&memory, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

template <typename T>
std::vector<T> on_host(const T* memory, std::size_t size) {
    std::vector<T> host(size);
    CHECK(cudaMemcpy(host.data(), memory, size * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

template <typename Action>
double timed(const Action& action) {
    action();
    CHECK(cudaDeviceSynchronize());
    std::vector<double> seconds;
    for (int i = 0; i < 7; ++i) {
        const double start = now();
        action();
        CHECK(cudaDeviceSynchronize());
        seconds.push_back(now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[3];
}

void require(bool right, const char* name) {
    if (right) return;
    std::fprintf(stderr, "wrong result of %s\n", name);
    std::exit(1);
}

template <typename T>
double matmul(void (*kernel)(const T*, const T*, T*, long), const char* name) {
    const long size = 512;
    std::vector<T> a(size * size), b(size * size);
    for (long i = 0; i < size * size; ++i) a[i] = i % 7, b[i] = i % 5;
    const T *x = on_device(a), *y = on_device(b);
    T* out = on_device(a);
    const double seconds = timed([&] { kernel<<<dim3(32, 32), dim3(16, 16)>>>(x, y, out, size); });
    const auto result = on_host(out, size * size);
    for (long at : {0L, size + 1, size * size - 1}) {
        T total = 0;
        for (long k = 0; k < size; ++k) total += a[at / size * size + k] * b[k * size + at % size];
        require(result[at] == total, name);
    }
    return seconds;
}

int main(int count, char** arguments) {
    const char* name = count > 1 ? arguments[1] : "";
    double seconds = 0;
    if (std::strcmp(name, "vector_add_large") == 0) {
        const long size = 10'000'000;
        std::vector<double> x(size), y(size);
        for (long i = 0; i < size; ++i) x[i] = i, y[i] = 2.0 * i;
        const double *a = on_device(x), *b = on_device(y);
        double* out = on_device(x);
        seconds = timed([&] { add<<<(size + 255) / 256, 256>>>(a, b, out, size); });
        require(on_host(out, size)[size - 1] == 3.0 * (size - 1), name);
    } else if (std::strcmp(name, "matmul_naive") == 0) {
        seconds = matmul(&matmul_naive, name);
    } else if (std::strcmp(name, "matmul_tiled") == 0) {
        seconds = matmul(&matmul_tiled, name);
    } else if (std::strcmp(name, "block_sums") == 0) {
        const long blocks = 10'000'000 / 256;
        std::vector<float> x(blocks * 256);
        for (long i = 0; i < blocks * 256; ++i) x[i] = i % 4;
        const float* a = on_device(x);
        float* out = on_device(std::vector<float>(blocks));
        seconds = timed([&] { reduce_blocks<<<blocks, 256>>>(a, out); }) / (blocks * 256);
        require(on_host(out, blocks)[blocks - 1] == 384, name);
    } else if (std::strcmp(name, "histogram_large") == 0) {
        const long size = 1'000'000 / 256 * 256;
        std::vector<int> values(size);
        for (long i = 0; i < size; ++i) values[i] = i * 2654435761u % 64;
        const int* a = on_device(values);
        int* bins = on_device(std::vector<int>(64));
        seconds = timed([&] { count_values<<<size / 256, 256>>>(a, bins, size); }) / size;
        long total = 0;
        for (int bin : on_host(bins, 64)) total += bin;
        require(total == 8 * size, name);
    } else if (std::strcmp(name, "launch") == 0) {
        const int launches = 20'000;
        seconds = timed([&] {
                      for (int i = 0; i < launches; ++i) empty<<<1, 1>>>();
                  }) / launches;
    } else {
        std::fprintf(stderr, "no measurement %s\n", name);
        return 2;
    }
    std::printf("%.9g\n", seconds);
}
