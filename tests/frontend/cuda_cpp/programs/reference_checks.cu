// Local variables whose addresses go to functions: members, references, pointers. reference_checks NAME makes one
// mistake in one thread, reference_checks right makes none.
#include <algorithm>
#include <cstdio>
#include <cstring>

struct Range {
    float low, high;
    __device__ Range(float l, float h) : low(l), high(h) {}
    __device__ bool operator<(const Range& other) const { return low < other.low; }
};

struct Widest {
    __device__ Range operator()(const Range& a, const Range& b) const {
        return Range(fminf(a.low, b.low), fmaxf(a.high, b.high));
    }
};

__device__ Range from_below(const Range& range, int lanes) {
    return Range(__shfl_down_sync(0xffffffffu, range.low, lanes),
                 __shfl_down_sync(0xffffffffu, range.high, lanes));
}

template <typename T, typename Operation>
__device__ T of_warp(T value, Operation operation) {
    for (int lanes = 16; lanes > 0; lanes /= 2) value = operation(value, from_below(value, lanes));
    return value;
}

struct Least {
    template <typename T>
    __device__ const T& operator()(const T& a, const T& b) const {
        return b < a ? b : a;
    }
};

__global__ void ranges(float* out, int) {
    const Range own(100.0f - threadIdx.x, threadIdx.x);
    const Range all = of_warp(own, Widest()), least = of_warp(own, Least());
    if (threadIdx.x == 0) out[0] = all.low, out[1] = all.high, out[2] = least.low, out[3] = least.high;
}

// The callee's pointer is to a local array of the caller.
__device__ int at(const int* numbers, int index) {
    return numbers[index];  // indexed
}

__global__ void indexed(float* out, int index) {
    int numbers[4] = {1, 2, 3, 4};
    const int got = at(numbers, threadIdx.x == 3 ? index : 1);
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, got, 1);
}

struct Numbers {
    int values[4];
    __device__ int& operator[](int index) { return values[index]; }
    __device__ const int* end() const { return values + 4; }
};

__global__ void member(float* out, int index) {
    Numbers numbers{{1, 2, 3, 4}};
    numbers[threadIdx.x == 6 ? index : 2] = 7;  // member
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, numbers[2], 1);
}

__device__ int last_of(const Numbers& a, const Numbers& b, bool second, int behind) {
    const Numbers& one = second ? b : a;
    return one.end()[behind];  // joined
}

__global__ void joined(float* out, int behind) {
    Numbers a{{1, 2, 3, 4}}, b{{5, 6, 7, 8}};
    const int got = last_of(a, b, threadIdx.x % 2, threadIdx.x == 9 ? behind : -1);
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, got, 1);
}

// Either a local variable or memory of the device.
__global__ void mixed(float* out, int index) {
    float own = threadIdx.x;
    float* to = threadIdx.x % 2 ? &own : out + (threadIdx.x == 8 ? index : threadIdx.x);
    *to += 1;  // mixed
    own = __shfl_xor_sync(0xffffffffu, own, 1);
    if (threadIdx.x % 2 == 0) out[threadIdx.x + 1] = own;
}

// The whole of a variable is copied through a reference that may be to either, of which one is too short.
struct Large {
    float values[4];
};

__global__ void copied(float* out, int index) {
    Large own{{1, 2, 3, 4}};
    const Large& from =
        threadIdx.x % 2 ? own : reinterpret_cast<const Large*>(out)[threadIdx.x == 4 ? index : 0];
    Large got = from;  // copied
    got.values[0] = __shfl_xor_sync(0xffffffffu, got.values[3], 1);
    if (threadIdx.x > 3) out[threadIdx.x] = got.values[0];
}

int main(int, char** arguments) {
    const char* name = arguments[1];
    float host[32] = {}, *out;
    cudaMalloc(&out, sizeof host);
    const auto launch = [&](void (*kernel)(float*, int), const char* own, int wrong, int right) {
        cudaMemset(out, 0, sizeof host);
        kernel<<<1, 32>>>(out, std::strcmp(name, own) == 0 ? wrong : right);
        const cudaError_t error = cudaDeviceSynchronize();
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
        std::printf("%s %d", own, error);
        for (int i = 0; i < 12; ++i) std::printf(" %g", error == cudaSuccess ? host[i] : 0.0f);
        std::printf("\n");
    };
    launch(&ranges, "ranges", 0, 0);
    launch(&indexed, "indexed", 4, 1);
    launch(&member, "member", -1, 2);
    launch(&joined, "joined", 0, -1);
    launch(&mixed, "mixed", 32, 8);
    launch(&copied, "copied", 8, 0);
    return 0;
}
