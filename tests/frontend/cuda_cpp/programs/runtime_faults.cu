// Kernels that fail, and what the calls after them return. The argument names the fault.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

__global__ void write_to(int* address) {
    *address = 1;
}
__global__ void misaligned(char* address) {
    *reinterpret_cast<int*>(address + 1) = 1;
}
__global__ void trap() {
    __trap();
}
__global__ void divide(int* result, int by) {
    *result = 7 / by;
}
__global__ void wait_for(volatile int* flag) {
    while (*flag == 0) {}
}
__global__ void wait_for_others() {
    asm volatile("bar.sync 1, 64;" ::: "memory");
}
__device__ __noinline__ int depth_of(int value) {
    return value == 0 ? 0 : depth_of(value * 3 + 2) + 1;
}
__global__ void recurse(int* result, int value) {
    *result = depth_of(value);
}
__global__ void empty() {}

static int result_in_callback = -1;

static void show(const char* what, int value) {
    std::printf("%s %d\n", what, value);
}

static void after_fault() {
    show("launch", cudaGetLastError());
    cudaStreamAddCallback(
        nullptr, [](cudaStream_t, cudaError_t status, void*) { result_in_callback = status; }, nullptr, 0);
    show("synchronize", cudaDeviceSynchronize());
    show("callback", result_in_callback);
    show("last", cudaGetLastError());
    show("last again", cudaGetLastError());
    int* memory = nullptr;
    show("malloc", cudaMalloc(&memory, 4));
    cudaStream_t stream;
    show("stream", cudaStreamCreate(&stream));
    show("query", cudaStreamQuery(nullptr));
    empty<<<1, 1>>>();
    show("next launch", cudaPeekAtLastError());
    int device = -1, count = -1;
    show("get device", cudaGetDevice(&device));
    show("count", cudaGetDeviceCount(&count));
    show("reset", cudaDeviceReset());
    show("last after reset", cudaGetLastError());
    empty<<<1, 1>>>();
    show("launch after reset", cudaDeviceSynchronize());
}

struct Global {
    ~Global() {
        int* memory = nullptr;
        std::printf("destructor %d\n", cudaMalloc(&memory, 4));
        cudaFree(memory);
        cudaDeviceSynchronize();
        std::fflush(stdout);
    }
};

int main(int, char** arguments) {
    const std::string fault = arguments[1];
    int* memory = nullptr;
    if (fault == "null") write_to<<<1, 1>>>(nullptr), after_fault();
    if (fault == "wild") write_to<<<1, 1>>>(reinterpret_cast<int*>(0x12345678)), after_fault();
    if (fault == "misaligned") {
        cudaMalloc(&memory, 64);
        misaligned<<<1, 1>>>(reinterpret_cast<char*>(memory));
        after_fault();
    }
    if (fault == "trap") trap<<<1, 1>>>(), after_fault();
    if (fault == "livelock") {
        cudaMalloc(&memory, 4);
        cudaMemset(memory, 0, 4);
        wait_for<<<1, 1>>>(memory);
        after_fault();
    }
    if (fault == "recursion") {
        cudaMalloc(&memory, 4);
        recurse<<<1, 1>>>(memory, 1);
        after_fault();
    }
    if (fault == "deadlock") wait_for_others<<<1, 32>>>(), after_fault();
    if (fault == "division") {
        cudaMalloc(&memory, 4);
        divide<<<1, 1>>>(memory, 0);
        show("launch", cudaGetLastError());
        show("synchronize", cudaDeviceSynchronize());
    }
    if (fault == "fork") {
        show("parent", cudaFree(nullptr));
        std::fflush(stdout);
        if (fork() == 0) {
            int count = 0;
            show("count in child", cudaGetDeviceCount(&count));
            show("malloc in child", cudaMalloc(&memory, 4));
            empty<<<1, 1>>>();
            show("launch in child", cudaGetLastError());
            std::fflush(stdout);
            _exit(0);
        }
        int status = -1;
        wait(&status);
        show("status of child", status);
        show("parent after", cudaMalloc(&memory, 4));
    }
    if (fault == "fork first") {
        std::fflush(stdout);
        if (fork() == 0) {
            empty<<<1, 1>>>();
            show("child", cudaDeviceSynchronize());
            std::fflush(stdout);
            _exit(0);
        }
        wait(nullptr);
    }
    if (fault == "destructor") {
        static Global global;
        empty<<<1, 1>>>();
    }
}
