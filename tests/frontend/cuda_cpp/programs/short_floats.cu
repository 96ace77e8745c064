// Writes what the functions of cuda_fp16.h (or, with -DBFLOAT, cuda_bf16.h) give, for the test to compare with
// exact arithmetic: "name count\n" and count words of 64 bits, each. Host and device must agree.
#if defined(BFLOAT)
#include <cuda_bf16.h>
#define NAME(before, after) before##bfloat16##after
typedef __nv_bfloat16 T;
typedef __nv_bfloat162 T2;
#else
#include <cuda_fp16.h>
#define NAME(before, after) before##half##after
typedef __half T;
typedef __half2 T2;
#endif

#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

typedef unsigned long long Word;
#define HD __host__ __device__

static HD T of(unsigned bits) {
    return NAME(__ushort_as_, )(static_cast<unsigned short>(bits));
}
static HD Word word(T x) {
    return NAME(__, _as_ushort)(x);
}
static HD Word word(T2 x) {
    return word(x.x) | word(x.y) << 16;
}
static HD Word word(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
template <class I>
static HD typename std::enable_if<std::is_integral<I>::value, Word>::type word(I x) {
    return static_cast<Word>(static_cast<long long>(x));
}

static HD unsigned mixed(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}
// Every second operand has an exponent near the first one's, where rounding matters.
static HD unsigned operand(unsigned i, unsigned which) {
    const unsigned short special[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3f80, 0xbf80,
                                      0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7f7f, 0x7f80, 0xff80, 0x7e00, 0xffff, 0x0080};
    if (i < 8000) return special[which == 0 ? i % 20 : which == 1 ? i / 20 % 20 : i / 400];
    const unsigned own = mixed(3 * i + which) & 0xffff;
    // 1.5 times an odd number is a tie, and the third decides on which side.
    if (i % 16 == 5) return which == 0 ? word(T(1.5f)) : which == 1 ? (own & 0x7f) | 1 | word(T(1.0f)) : (own & 0x8000) | 1;
    if (which == 0 || i % 2 == 0) return own;
    return (own & 0x87ff) | (mixed(3 * i) & 0x7800);
}

// Of every number.
#define OF_ONE(X)                                                                                                     \
    X(to_float, NAME(__, 2float)(a)) X(to_half_and_back, NAME(__float2, )(NAME(__, 2float)(a)))                       \
    X(as_float, static_cast<float>(a)) X(as_int, static_cast<int>(a)) X(as_bool, static_cast<bool>(a))                \
    X(as_uchar, static_cast<unsigned char>(a)) X(as_long, static_cast<long>(a))                                       \
    X(as_ull, static_cast<unsigned long long>(a))                                                                     \
    X(char_zero, NAME(__, 2char_rz)(a)) X(uchar_zero, NAME(__, 2uchar_rz)(a))                                         \
    TO(short, 2short, X) TO(ushort, 2ushort, X) TO(int, 2int, X) TO(uint, 2uint, X) TO(ll, 2ll, X) TO(ull, 2ull, X)   \
    X(abs, __habs(a)) X(neg, __hneg(a)) X(minus, -a) X(plus, +a) X(isnan, __hisnan(a)) X(isinf, __hisinf(a))          \
    X(increment, incremented(a)) X(decrement, decremented(a))                                                         \
    X(isnan2, __hisnan2(T2(a, b))) X(abs2, __habs2(T2(a, b))) X(neg2, __hneg2(T2(a, b)))                              \
    X(low_float, __low2float(T2(a, b))) X(high_float, __high2float(T2(a, b)))                                         \
    X(swapped, __lowhigh2highlow(T2(a, b)))
#define TO(name, to, X)                                                              \
    X(name##_nearest, NAME(__, to##_rn)(a)) X(name##_zero, NAME(__, to##_rz)(a))     \
    X(name##_down, NAME(__, to##_rd)(a)) X(name##_up, NAME(__, to##_ru)(a))
// Of pairs and triples.
#define OF_SEVERAL(X)                                                                                                 \
    X(a, a) X(b, b) X(c, c) X(add, __hadd(a, b)) X(sub, __hsub(a, b)) X(mul, __hmul(a, b)) X(div, __hdiv(a, b))       \
    X(add_rn, __hadd_rn(a, b)) X(sub_rn, __hsub_rn(a, b)) X(mul_rn, __hmul_rn(a, b))                                  \
    X(add_sat, __hadd_sat(a, b)) X(sub_sat, __hsub_sat(a, b)) X(mul_sat, __hmul_sat(a, b))                            \
    X(add_operator, a + b) X(sub_operator, a - b) X(mul_operator, a* b) X(div_operator, a / b)                        \
    X(add2, __hadd2(T2(a, b), T2(b, c))) X(sub2, __hsub2(T2(a, b), T2(b, c))) X(mul2, __hmul2(T2(a, b), T2(b, c)))    \
    X(div2, __h2div(T2(a, b), T2(b, c))) X(add2_operator, T2(a, b) + T2(b, c)) X(sub2_operator, T2(a, b) - T2(b, c))  \
    X(mul2_operator, T2(a, b) * T2(b, c)) X(div2_operator, T2(a, b) / T2(b, c))                                       \
    X(fma, __hfma(a, b, c)) X(fma_sat, __hfma_sat(a, b, c)) X(fma_relu, __hfma_relu(a, b, c))                         \
    X(fma2, __hfma2(T2(a, b), T2(b, c), T2(c, a))) X(cmadd, __hcmadd(T2(a, b), T2(b, c), T2(c, a)))                   \
    X(max, __hmax(a, b)) X(min, __hmin(a, b)) X(max_nan, __hmax_nan(a, b)) X(min_nan, __hmin_nan(a, b))               \
    X(max2, __hmax2(T2(a, b), T2(b, c))) X(min2_nan, __hmin2_nan(T2(a, b), T2(b, c)))                                 \
    COMPARED(eq, ==, X) COMPARED(lt, <, X) COMPARED(gt, >, X) COMPARED(le, <=, X) COMPARED(ge, >=, X)                 \
    X(ne, __hne(a, b)) X(neu, __hneu(a, b)) X(ne_operator, a != b) X(bne2, __hbne2(T2(a, b), T2(b, c)))               \
    X(bneu2, __hbneu2(T2(a, b), T2(b, c))) X(ne2_operator, T2(a, b) != T2(b, c))                                      \
    X(neu2_mask, __hneu2_mask(T2(a, b), T2(b, c)))
#define COMPARED(name, sign, X)                                                                                       \
    X(name, __h##name(a, b)) X(name##u, __h##name##u(a, b)) X(name##_operator, a sign b)                              \
    X(name##2, __h##name##2(T2(a, b), T2(b, c))) X(name##2_mask, __h##name##2_mask(T2(a, b), T2(b, c)))               \
    X(b##name##2, __hb##name##2(T2(a, b), T2(b, c))) X(name##2_operator, T2(a, b) sign T2(b, c))
// Of floats, doubles and integers.
#define FROM(name, from, value, X)                                                                              \
    X(name##_nearest, NAME(from, _rn)(value)) X(name##_zero, NAME(from, _rz)(value))                            \
    X(name##_down, NAME(from, _rd)(value)) X(name##_up, NAME(from, _ru)(value))
#define OF_NUMBERS(X)                                                                                           \
    X(float_bits, real) X(integer, integer) FROM(from_float, __float2, real, X)                                 \
    X(from_float, NAME(__float2, )(real)) X(from_double, NAME(__double2, )(wide)) X(constructed, T(real))       \
    X(double_constructed, T(wide)) X(wide_low, low_word(wide)) X(wide_high, high_word(wide))                    \
    FROM(from_short, __short2, static_cast<short>(integer), X)                                                  \
    FROM(from_ushort, __ushort2, static_cast<unsigned short>(integer), X)                                       \
    FROM(from_int, __int2, static_cast<int>(integer), X)                                                        \
    FROM(from_uint, __uint2, static_cast<unsigned>(integer), X)                                                 \
    FROM(from_ll, __ll2, integer, X) FROM(from_ull, __ull2, static_cast<Word>(integer), X)                      \
    X(int_constructed, T(static_cast<int>(integer))) X(long_constructed, T(static_cast<long>(integer)))
// For the device only.
#define OF_ONE_ON_DEVICE(X)                                                                                     \
    X(ceil, hceil(a)) X(floor, hfloor(a)) X(rint, hrint(a)) X(trunc, htrunc(a)) X(sqrt, hsqrt(a))               \
    X(rsqrt, hrsqrt(a)) X(rcp, hrcp(a)) X(log, hlog(a)) X(log2, hlog2(a)) X(log10, hlog10(a)) X(exp, hexp(a))   \
    X(exp2, hexp2(a)) X(exp10, hexp10(a)) X(cos, hcos(a)) X(sin, hsin(a)) X(tanh, htanh(a))                     \
    X(tanh_approx, htanh_approx(a)) X(sin2, h2sin(T2(a, b))) X(sqrt2, h2sqrt(T2(a, b)))

static HD T incremented(T x) {
    const T before = x++;
    T again = before;
    ++again;
    return word(again) == word(x) ? x : T(0.0f);
}
static HD T decremented(T x) {
    const T before = x--;
    T again = before;
    --again;
    return word(again) == word(x) ? x : T(0.0f);
}
static HD Word bits_of(double x) {
    Word bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static HD unsigned low_word(double x) {
    return static_cast<unsigned>(bits_of(x));
}
static HD unsigned high_word(double x) {
    return static_cast<unsigned>(bits_of(x) >> 32);
}

#define COUNTED(name, value) +1
#define NAMED(name, value) #name,
#define STORED(name, value) out[n++ * count + i] = word(value);

struct One {
    static constexpr unsigned count = 65536;
    static HD void all(unsigned i, Word* out) {
        const T a = of(i), b = of(i * 40503U);
        unsigned n = 0;
        OF_ONE(STORED)
    }
    static std::vector<const char*> names() { return {OF_ONE(NAMED)}; }
};
struct Several {
    static constexpr unsigned count = 16000;
    static HD void all(unsigned i, Word* out) {
        const T a = of(operand(i, 0)), b = of(operand(i, 1)), c = of(operand(i, 2));
        unsigned n = 0;
        OF_SEVERAL(STORED)
    }
    static std::vector<const char*> names() { return {OF_SEVERAL(NAMED)}; }
};
struct Numbers {
    static constexpr unsigned count = 8000;
    static HD void all(unsigned i, Word* out) {
        // Short floats, their neighbours and ties, besides any float.
        const unsigned any = mixed(i), tail[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001};
        const unsigned near = (any & 0xffff0000U) | tail[i % 8] | (i % 16 < 8 ? any & 0xe000 : 0);
        const unsigned middle = (near & 0x83ffffffU) | 0x38000000U | (any << 12 & 0x04000000U);
        const unsigned bits = i % 3 == 0 ? any : i % 3 == 1 ? near : middle;
        float real;
        memcpy(&real, &bits, sizeof real);
        double wide = real;
        if (i % 5) wide *= 1 + (i % 5 - 2.5) * 1e-15;
        const long long integer =
            static_cast<long long>(static_cast<Word>(any) << 32 | mixed(any)) >> (i % 64) << (i % 7 ? 0 : 11);
        unsigned n = 0;
        OF_NUMBERS(STORED)
    }
    static std::vector<const char*> names() { return {OF_NUMBERS(NAMED)}; }
};
struct OneOnDevice {
    static constexpr unsigned count = 65536;
    static __device__ void all(unsigned i, Word* out) {
        const T a = of(i), b = of(i * 40503U);
        unsigned n = 0;
        OF_ONE_ON_DEVICE(STORED)
    }
    static std::vector<const char*> names() { return {OF_ONE_ON_DEVICE(NAMED)}; }
};

template <class Set>
__global__ void results(Word* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < Set::count) Set::all(i, out);
}

template <class Set>
std::vector<Word> of_device(FILE* file) {
    const std::vector<const char*> names = Set::names();
    std::vector<Word> values(names.size() * Set::count);
    Word* device;
    cudaMalloc(&device, values.size() * sizeof(Word));
    results<Set><<<(Set::count + 255) / 256, 256>>>(device);
    if (const cudaError_t error = cudaDeviceSynchronize()) printf("error %d\n", error);
    cudaMemcpy(values.data(), device, values.size() * sizeof(Word), cudaMemcpyDeviceToHost);
    cudaFree(device);
    for (size_t n = 0; n < names.size(); ++n) {
        fprintf(file, "%s %u\n", names[n], Set::count);
        fwrite(&values[n * Set::count], sizeof(Word), Set::count, file);
    }
    return values;
}
template <class Set>
void compared(FILE* file) {
    const std::vector<Word> device = of_device<Set>(file);
    std::vector<Word> host(device.size());
    for (unsigned i = 0; i < Set::count; ++i) Set::all(i, host.data());
    for (size_t n = 0; n < host.size(); ++n)
        if (host[n] != device[n]) {
            printf("%s of number %zu: host %llx, device %llx\n", Set::names()[n / Set::count], n % Set::count,
                   host[n], device[n]);
            n += Set::count - n % Set::count - 1;
        }
}

int main(int, char** arguments) {
    FILE* file = fopen(arguments[1], "wb");
    compared<One>(file);
    compared<Several>(file);
    compared<Numbers>(file);
    of_device<OneOnDevice>(file);
    fclose(file);
}
