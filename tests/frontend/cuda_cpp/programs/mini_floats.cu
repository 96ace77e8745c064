// Writes what the conversions of cuda_fp8.h, cuda_fp6.h and cuda_fp4.h give, as short_floats.cu does. Host and
// device must agree.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstdio>
#include <cstring>
#include <vector>

typedef unsigned long long Word;
#define HD __host__ __device__

static HD unsigned mixed(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}
static HD Word bits(float x) {
    unsigned word;
    memcpy(&word, &x, sizeof word);
    return word;
}
static HD Word bits(__half x) {
    return __half_as_ushort(x);
}
template <class T>
static HD T with(unsigned pattern) {
    T x;
    x.__x = pattern;
    return x;
}
static HD __half_raw half_of(unsigned pattern) {
    __half_raw raw;
    raw.x = pattern;
    return raw;
}

// Of every binary16, and of as many floats; `low` and `high` are two of them, `wide` lies beside `low`.
#define CONVERTED(X)                                                                                             \
    X(half, i) X(low, bits(low)) X(integer, static_cast<Word>(integer))                                          \
    X(half_e4m3, __nv_cvt_halfraw_to_fp8(half_of(i), __NV_NOSAT, __NV_E4M3))                                     \
    X(half_e4m3_finite, __nv_cvt_halfraw_to_fp8(half_of(i), __NV_SATFINITE, __NV_E4M3))                          \
    X(half_e5m2, __nv_cvt_halfraw_to_fp8(half_of(i), __NV_NOSAT, __NV_E5M2))                                     \
    X(half_e5m2_finite, __nv_cvt_halfraw_to_fp8(half_of(i), __NV_SATFINITE, __NV_E5M2))                          \
    X(low_e4m3, __nv_cvt_float_to_fp8(low, __NV_NOSAT, __NV_E4M3))                                               \
    X(low_e5m2, __nv_cvt_float_to_fp8(low, __NV_NOSAT, __NV_E5M2))                                               \
    X(low_e4m3_finite, __nv_fp8_e4m3(low).__x) X(low_e5m2_finite, __nv_fp8_e5m2(low).__x)                        \
    X(wide_e4m3_finite, __nv_fp8_e4m3(wide).__x) X(wide_e5m2_finite, __nv_fp8_e5m2(wide).__x)                    \
    X(integer_e4m3_finite, __nv_fp8_e4m3(integer).__x) X(integer_e5m2_finite, __nv_fp8_e5m2(integer).__x)        \
    X(pair_e4m3, __nv_fp8x2_e4m3(make_float2(low, high)).__x)                                                    \
    X(four_e4m3, __nv_fp8x4_e4m3(make_float4(low, high, 1, low)).__x)                                            \
    X(low_e2m3, __nv_cvt_float_to_fp6(low, __NV_E2M3, cudaRoundNearest))                                         \
    X(low_e2m3_zero, __nv_cvt_float_to_fp6(low, __NV_E2M3, cudaRoundZero))                                       \
    X(low_e3m2, __nv_fp6_e3m2(low).__x) X(pair_e3m2, __nv_fp6x2_e3m2(make_float2(low, high)).__x)                \
    X(low_e2m1, __nv_cvt_float_to_fp4(low, __NV_E2M1, cudaRoundNearest)) X(wide_e2m1, __nv_fp4_e2m1(wide).__x)   \
    X(four_e2m1, __nv_fp4x4_e2m1(make_float4(low, high, 1, low)).__x)                                            \
    X(low_e8m0_up, __nv_cvt_float_to_e8m0(low, __NV_SATFINITE, cudaRoundPosInf))                                 \
    X(low_e8m0_down, __nv_cvt_float_to_e8m0(low, __NV_NOSAT, cudaRoundZero)) X(made_e8m0, __nv_fp8_e8m0(low).__x)
// Of every pattern.
#define VALUES(X)                                                                                                \
    X(e4m3, bits(static_cast<float>(with<__nv_fp8_e4m3>(i)))) X(e5m2, bits(static_cast<float>(with<__nv_fp8_e5m2>(i)))) \
    X(e2m3, bits(static_cast<float>(with<__nv_fp6_e2m3>(i & 63)))) X(e3m2, bits(static_cast<float>(with<__nv_fp6_e3m2>(i & 63)))) \
    X(e2m1, bits(static_cast<float>(with<__nv_fp4_e2m1>(i & 15)))) X(e8m0, bits(static_cast<float>(with<__nv_fp8_e8m0>(i)))) \
    X(e4m3_half, bits(static_cast<__half>(with<__nv_fp8_e4m3>(i)))) X(e5m2_half, bits(static_cast<__half>(with<__nv_fp8_e5m2>(i)))) \
    X(e4m3_int, static_cast<Word>(static_cast<int>(with<__nv_fp8_e4m3>(i))))                                     \
    X(e5m2_uchar, static_cast<unsigned char>(with<__nv_fp8_e5m2>(i))) X(e5m2_bool, static_cast<bool>(with<__nv_fp8_e5m2>(i))) \
    X(e4m3_pair, bits(static_cast<float2>(with<__nv_fp8x2_e4m3>(i << 8 | 0x38)).y))                              \
    X(e2m1_four, bits(static_cast<float4>(with<__nv_fp4x4_e2m1>((i & 15) << 8 | 0x2022)).z))                     \
    X(e5m2_raw, __nv_cvt_fp8x2_to_halfraw2(i << 8, __NV_E5M2).y)

struct Converted {
    static constexpr unsigned count = 65536;
    static HD void all(unsigned i, Word* out) {
        const unsigned any = mixed(i), tail = i % 4 == 0 ? 0xffffffffU : i % 4 == 1 ? 0xfff00000U : 0xffe00000U;
        // Exponents beside 1, and few bits: ties.
        unsigned word = i % 8 < 3 ? any : ((any & 0x87ffffffU) | (any & 0x100 ? 0x38000000U : 0x40000000U)) & tail;
        float low, high;
        memcpy(&low, &word, sizeof low);
        word = mixed(any);
        memcpy(&high, &word, sizeof high);
        const double wide = static_cast<double>(low) * (1 + 1e-15 * (static_cast<int>(i % 3) - 1));
        const int integer = static_cast<int>(any) >> (i % 32);
        unsigned n = 0;
#define STORED(name, value) out[n++ * count + i] = (value);
        CONVERTED(STORED)
    }
#define NAMED(name, value) #name,
    static std::vector<const char*> names() { return {CONVERTED(NAMED)}; }
};
struct Values {
    static constexpr unsigned count = 256;
    static HD void all(unsigned i, Word* out) {
        unsigned n = 0;
        VALUES(STORED)
    }
    static std::vector<const char*> names() { return {VALUES(NAMED)}; }
};

template <class Set>
__global__ void results(Word* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < Set::count) Set::all(i, out);
}
template <class Set>
void compared(FILE* file) {
    const std::vector<const char*> names = Set::names();
    std::vector<Word> values(names.size() * Set::count), host(values.size());
    Word* device;
    cudaMalloc(&device, values.size() * sizeof(Word));
    results<Set><<<Set::count / 256, 256>>>(device);
    cudaMemcpy(values.data(), device, values.size() * sizeof(Word), cudaMemcpyDeviceToHost);
    cudaFree(device);
    for (unsigned i = 0; i < Set::count; ++i) Set::all(i, host.data());
    for (size_t n = 0; n < names.size(); ++n) {
        const Word* const own = &values[n * Set::count];
        fprintf(file, "%s %u\n", names[n], Set::count);
        fwrite(own, sizeof(Word), Set::count, file);
        if (memcmp(own, &host[n * Set::count], Set::count * sizeof(Word)) != 0) printf("%s differs\n", names[n]);
    }
}
int main(int, char** arguments) {
    FILE* file = fopen(arguments[1], "wb");
    compared<Converted>(file);
    compared<Values>(file);
    fclose(file);
}
