// What CUDA C++ programs write in device code, one kernel for each part of the language; checks itself.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#define TRUE(...) \
    if (!(__VA_ARGS__)) printf("line %d: %s\n", __LINE__, #__VA_ARGS__);

// Variables.
__device__ int counter = 5;
static __device__ float table[4] = {1, 2, 3, 4};
__device__ const int primes[] = {2, 3, 5, 7};
__constant__ int coefficients[3] = {7, 8, 9};
__constant__ struct {
    float a;
    int b;
} settings = {1.5f, 3};
static __constant__ double grid[2][2] = {{1, 2}, {3, 4}};
constexpr int constant = 32;
const float scale = 2.5f;
enum Kind { first, second = 5 };
enum class Mode : unsigned char { off, on };
namespace outer {
namespace inner {
__device__ int variable = 11;
template <typename T>
__device__ T twice(T x) {
    return x + x;
}
}  // namespace inner
}  // namespace outer

__global__ void variables() {
    static __device__ int kept = 40;
    TRUE(counter == 5 && table[3] == 4 && primes[threadIdx.x + 2] == 5 && coefficients[2] == 9)
    TRUE(settings.a == 1.5f && settings.b == 3 && grid[1][0] == 3 && constant == 32 && scale == 2.5f)
    TRUE(second == 5 && Mode::on != Mode::off && outer::inner::twice(outer::inner::variable) == 22)
    TRUE(++kept == 41 && atomicAdd(&counter, 1) == 5 && counter == 6)
}

// Shared memory.
template <typename T>
__device__ T* dynamic_shared() {
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T*>(bytes);
}
template <typename T, int N>
__global__ void shared_memory(T* out) {
    __shared__ T tile[N][N + 1];
    __shared__ struct {
        int count;
        T sum;
    } state;
    T* const dynamic = dynamic_shared<T>();
    const int i = threadIdx.x;
    if (i == 0) state.count = 0, state.sum = 0;
    for (int j = 0; j < N; ++j) tile[j][i] = T(i * N + j);
    __syncthreads();
    dynamic[i] = tile[i][N - 1 - i];
    atomicAdd(&state.count, 1);
    __syncthreads();
    out[i] = dynamic[N - 1 - i] + T(state.count);
}
__global__ void dynamic_floats(float* out) {
    extern __shared__ float floats[];
    floats[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = floats[31 - threadIdx.x];
}
__global__ void dynamic_parts(int n) {
    extern __shared__ int integers[];
    double* const doubles = reinterpret_cast<double*>(integers + 2 * n);
    integers[0] = 1, integers[2 * n - 1] = 2, doubles[0] = 3, doubles[n - 1] = 4;
    TRUE(integers[0] == 1 && integers[2 * n - 1] == 2 && doubles[0] == 3 && doubles[n - 1] == 4)
}

// Classes, templates, lambdas, function pointers.
class Vector {
    float x_, y_;

  public:
    __host__ __device__ Vector(float x = 0, float y = 0) : x_(x), y_(y) {}
    __host__ __device__ Vector operator+(const Vector& other) const { return {x_ + other.x_, y_ + other.y_}; }
    __host__ __device__ friend Vector operator*(float a, const Vector& v) { return {a * v.x_, a * v.y_}; }
    __device__ float length() const { return sqrtf(x_ * x_ + y_ * y_); }
    static constexpr int dimensions = 2;
};
struct Shape {
    __host__ __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __host__ __device__ explicit Square(float s) : side(s) {}
    __host__ __device__ float area() const override { return side * side; }
};
struct Disc : Shape {
    float radius;
    __host__ __device__ explicit Disc(float r) : radius(r) {}
    __host__ __device__ float area() const override { return 3 * radius * radius; }
};
struct Tracked {
    int* alive;
    __device__ explicit Tracked(int* a) : alive(a) { ++*alive; }
    __device__ ~Tracked() { --*alive; }
};
typedef float (*Function)(float);
__device__ float half_of(float x) {
    return x / 2;
}
__device__ float triple_of(float x) {
    return 3 * x;
}
__device__ Function functions[] = {half_of, triple_of};
template <typename T>
__device__ T sum(T x) {
    return x;
}
template <typename T, typename... Rest>
__device__ T sum(T x, Rest... rest) {
    return x + sum(rest...);
}
template <typename T>
struct Named {
    static constexpr int value = 0;
};
template <>
struct Named<double> {
    static constexpr int value = 64;
};
template <bool forward, typename T>
__device__ T walk(const T* values, int n) {
    T result = 0;
    for (int i = 0; i < n; ++i) result = result * 10 + values[forward ? i : n - 1 - i];
    return result;
}
__device__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__host__ __device__ inline int side() {
#ifdef __CUDA_ARCH__
    return 1;
#else
    return 2;
#endif
}

__global__ void classes(int which) {
    const Vector v = Vector(1, 2) + 2.0f * Vector(1, 1);
    TRUE(v.length() == 5 && Vector::dimensions == 2)
    Square square(2);
    Disc disc(3);
    Shape* const shapes[] = {&square, &disc};
    TRUE(shapes[which]->area() == 27 && shapes[1 - which]->area() == 4)
    TRUE(functions[which](4) == 12 && functions[1 - which](4) == 2)
    int alive = 0;
    {
        Tracked one(&alive), two(&alive);
        TRUE(alive == 2)
    }
    alignas(Tracked) unsigned char place[sizeof(Tracked)];
    Tracked* const placed = new (place) Tracked(&alive);
    TRUE(alive == 1)
    placed->~Tracked();
    TRUE(alive == 0 && sum(1, 2, 3, 4) == 10 && Named<double>::value + Named<int>::value == 64)
    const int digits[] = {1, 2, 3};
    TRUE(walk<true>(digits, 3) == 123 && walk<false>(digits, 3) == 321 && fibonacci(10) == 55 && side() == 1)
    int total = 0;
    for (const int value : {1, 2, 3}) total += value;
    auto add = [&total](auto x) { total += x; };
    add(4);
    add(2.5f);
    TRUE(total == 12)
    const auto square_of = [](int x) { return x * x; };
    TRUE(square_of(which + 3) == 16)
    int a = 2;
    TRUE(std::move(a) == 2 && std::is_same<decltype(a), int>::value)
    TRUE(std::numeric_limits<float>::max() > 3e38f && std::numeric_limits<int>::min() == INT32_MIN)
}

template <typename F>
__global__ void apply(F f, int* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = f(i);
}
struct Plus {
    int amount;
    __host__ __device__ int operator()(int x) const { return x + amount; }
};
struct Parameters {
    char letter;
    double numbers[3];
    short2 pair;
    int* out;
};
__global__ void by_value(Parameters p, float4 v, const int* __restrict__ in, bool flag, Plus plus) {
    TRUE(p.letter == 'x' && p.numbers[2] == 2.5 && p.pair.y == -4 && v.w == 4 && in[1] == 8 && flag)
    *p.out = plus(in[0]);
}

// Statements, types, memory functions.
union Word {
    float real;
    int integer;
    unsigned char bytes[4];
};
struct Bits {
    unsigned low : 3, high : 29;
};
struct Large {
    int values[50];
};
__global__ void statements(int n, char* memory) {
    int steps = 0;
    for (;;) {
        if (++steps == 3) continue;
        if (steps > n) break;
    }
    do --steps;
    while (steps > 2);
    switch (n) {
        case 4:
        case 5:
            steps += 10;
        case 6:
            steps += 100;
            break;
        default:
            steps = -1;
    }
    TRUE(steps == 112)
    if (n != 5) goto end;
    {
        Word word;
        word.real = 1.0f;
        TRUE(word.integer == 0x3f800000 && word.bytes[3] == 0x3f && *(int*)&word == 0x3f800000)
        Bits bits = {5, 1000};
        bits.low += 1;
        TRUE(bits.low == 6 && bits.high == 1000 && sizeof bits == 4)
        Large large, copy;
        for (int i = 0; i < 50; ++i) large.values[i] = i;
        copy = large;
        memcpy(memory, &copy, sizeof copy);
        TRUE(((Large*)memory)->values[n] == 5)
        memset(memory, 0x11, 8);
        TRUE(*(long long*)memory == 0x1111111111111111)
        int array[8];
        for (int i = 0; i < n; ++i) array[i] = i * i;
        TRUE(array[n - 1] == 16)
        unsigned __int128 wide = (unsigned __int128)1 << 100;
        wide = wide * n + n;
        TRUE((unsigned long long)(wide >> 100) == 5 && (int)wide == 5)
        const wchar_t letter = L'a';
        const char16_t other = u'b';
        TRUE(letter == 97 && other == 98 && sizeof(long) == 8 && sizeof(void*) == 8 && int8_t(200) == -56)
        TRUE(__builtin_popcount(0xff) == 8 && __builtin_clz(1) == 31 && __builtin_expect(n, 5) == 5)
        unsigned u = 1u << 31;
        u <<= 1;
        TRUE(u == 0 && -7 / 2 == -3 && -7 % 2 == -1 && (n > 3 ? 'y' : 'n') == 'y')
#pragma unroll
        for (int i = 0; i < 4; ++i) steps += i;
#pragma unroll 2
        for (int i = 0; i < n; ++i) steps += i;
        TRUE(steps == 128)
        const char* const text = "a string";
        TRUE(text[2] == 's' && sizeof("abc") == 4)
        const auto pair = make_double2(1, 2);
        const uint3 index = threadIdx;
        const dim3 block = blockDim, direct(blockDim), from_index(threadIdx);
        const auto copy_of_index = threadIdx;
        uint3 assigned;
        assigned = blockIdx;
        TRUE(direct.y == 1 && from_index.z == 0 && copy_of_index.x == 0 && assigned.y == 0)
        TRUE(pair.y == 2 && index.x == 0 && block.x == 1 && gridDim.z == 1 && warpSize == 32)
    }
    return;
end:
    printf("skipped\n");
}
__global__ void prints() {
    printf("%d %u %ld %llu %lu %c %s %5.2f %g %e %x %X %o %p %-4d| %04d %% %hd %lld\n", -1, 2u, 3L, 4ULL,
           sizeof(int), 'c', "text", 1.5, 2.5f, 1e10, 255, 255, 8, (void*)0x10, 42, 42, (short)-3, 1LL << 40);
}
extern "C" __global__ void __launch_bounds__(64, 2) c_name(int* out) {
    *out = 21;
}

int main() {
    int* out;
    float* reals;
    double* doubles;
    char* memory;
    cudaMalloc(&out, 4096);
    cudaMalloc(&reals, 4096);
    cudaMalloc(&doubles, 4096);
    cudaMalloc(&memory, 4096);
    variables<<<1, 1>>>();
    shared_memory<float, 8><<<1, 8, 8 * sizeof(float)>>>(reals);
    shared_memory<double, 16><<<1, 16, 16 * sizeof(double)>>>(doubles);
    float f[32];
    double d[16];
    cudaMemcpy(f, reals, 8 * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(d, doubles, sizeof d, cudaMemcpyDeviceToHost);
    // dynamic[i] = tile[i][N - 1 - i] = (N - 1 - i) * N + i, read from the other end
    TRUE(f[0] == 7 + 8 && f[7] == 56 + 8 && d[0] == 15 + 16 && d[1] == 16 + 14 + 16)
    dynamic_floats<<<1, 32, 32 * sizeof(float)>>>(reals);
    cudaMemcpy(f, reals, sizeof f, cudaMemcpyDeviceToHost);
    TRUE(f[0] == 31 && f[30] == 1)
    dynamic_parts<<<1, 1, 2 * 10 * sizeof(int) + 10 * sizeof(double)>>>(10);
    classes<<<1, 1>>>(1);
    int results[40];
    const int factor = 3;
    apply<<<2, 8>>>([=] __device__(int i) { return i * factor; }, out, 40);
    cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
    TRUE(results[0] == 0 && results[39] == 117)
    const auto both = [factor] __host__ __device__(int i) { return i - factor; };
    apply<<<2, 8>>>(both, out, 40);
    cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
    TRUE(results[10] == both(10) && both(10) == 7 && side() == 2)
    apply<<<2, 8>>>(Plus{5}, out, 40);
    cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
    TRUE(results[10] == 15)
    const int given[2] = {7, 8};
    cudaMemcpy(out, given, sizeof given, cudaMemcpyHostToDevice);
    Parameters p = {'x', {0, 1, 2.5}, make_short2(3, -4), out + 2};
    by_value<<<1, 1>>>(p, make_float4(1, 2, 3, 4), out, true, Plus{1});
    cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
    TRUE(results[2] == 8)
    statements<<<1, 1>>>(5, memory);
    c_name<<<dim3(1), dim3(1, 1)>>>(out);
    cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
    TRUE(results[0] == 21)
    prints<<<1, 1>>>();
    TRUE(cudaDeviceSynchronize() == cudaSuccess)
    puts("end");
}
