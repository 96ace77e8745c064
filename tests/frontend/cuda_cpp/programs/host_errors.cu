// Mistakes of host code, one for each number that the program is given. The test finds lines by their remarks.
// No two cases make the same calls: a compiler makes one of them, with the line of either.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

__global__ void fill(int* values, int first) { values[first + threadIdx.x] = 1; }
template <typename T>
__global__ void fill_all(T* values) { values[threadIdx.x] = T(2); }

struct Buffer {
    float* data = nullptr;
    explicit Buffer(int count) {
        cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(float));  // allocates buffer
    }
};

#define CHECK(call) if ((call) != cudaSuccess) std::printf("failed\n")

__attribute__((noinline)) int sum(const int* values, int count) {
    int total = 0;
    for (int i = 0; i < count; ++i) total += values[i];  // reads
    return total;
}

__attribute__((noinline)) void launch_too_many(int* values) {
    fill<<<1, 3000>>>(values, 0);  // launches too many
}

int main(int argc, char** arguments) {
    const int what = std::atoi(arguments[1]);
    int *d_values = nullptr, *pinned = nullptr, *managed = nullptr;
    CHECK(cudaMalloc((void**)&d_values, 40));  // allocates d_values
    Buffer buffer(10);
    cudaMallocHost(&pinned, 40);
    cudaMallocManaged(&managed, 40);
    std::memset(pinned, 0, 40), std::memset(managed, 0, 40);
    switch (what) {
        case 0: fill<<<1, 32>>>(d_values, 0); break;
        case 1: fill<<<1, 32>>>(reinterpret_cast<int*>(buffer.data), 10); break;
        case 2: std::printf("%d\n", sum(d_values, 10)); break;  // calls sum
        case 3:
            fill<<<1, 10>>>(d_values, 0);
            cudaDeviceSynchronize();
            d_values[2] = 5;  // writes
            break;
        case 4: cudaFree(d_values); d_values[1] = 2; break;
        case 5: std::memset(d_values, 0, 40); break;  // clears
        case 6: std::thread([&] { d_values[3] = 1; }).join(); break;  // in a thread
        case 7: launch_too_many(d_values); break;
        case 8:
            fill_all<<<1, 0>>>(d_values);  // launches none
            break;
        case 9:
            fill<<<1, 3001>>>(d_values, 0);
            if (cudaGetLastError() != cudaSuccess) std::printf("noticed\n");
            break;
        case 10:
            for (int i = 0; i < 3; ++i) cudaMemcpy(pinned, buffer.data, 44, cudaMemcpyDeviceToHost);  // too long
            cudaMemcpy(d_values, std::vector<int>(10).data(), 40, cudaMemcpyDeviceToHost);  // wrong direction
            cudaFree(d_values);
            cudaFree(d_values);  // frees twice
            cudaFree(&d_values);  // frees a stack
            cudaFree(buffer.data + 1);  // frees inside
            if (argc > 2) fill<<<1, 10>>>(pinned, 0);
            break;
        case 11:  // nothing is wrong
            for (int i = 0; i < 3000; ++i) {
                fill<<<1, 10>>>(i % 2 ? managed : pinned, 0);
                cudaDeviceSynchronize();
                pinned[0] += managed[1];
                if (i % 100 == 0) cudaMemcpy(managed, d_values, 40, cudaMemcpyDefault);
            }
            fill<<<1, 10>>>(managed, 0);
            cudaMemcpy(pinned, managed, 40, cudaMemcpyDefault);
            std::printf("%d\n", pinned[9] + managed[9]);
            cudaFreeHost(pinned), cudaFree(managed);
            break;
        case 12: *reinterpret_cast<volatile int*>(16) = 1; break;
    }
    cudaDeviceSynchronize();
    std::printf("end\n");
}
