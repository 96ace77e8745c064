// Functions on words and the lanes of words: prints "name a b c = result" for the test to compute again.
#include <cstdio>
#include <vector>

#define BOTH_WIDTHS(X, name) X(name##2) X(name##4)
#define ONE(X) BOTH_WIDTHS(X, __vabs) BOTH_WIDTHS(X, __vabsss) BOTH_WIDTHS(X, __vneg) BOTH_WIDTHS(X, __vnegss)
#define TWO(X)                                                                                               \
    BOTH_WIDTHS(X, __vadd)                                                                                   \
    BOTH_WIDTHS(X, __vaddss) BOTH_WIDTHS(X, __vaddus) BOTH_WIDTHS(X, __vsub) BOTH_WIDTHS(X, __vsubss)        \
        BOTH_WIDTHS(X, __vsubus) BOTH_WIDTHS(X, __vabsdiffs) BOTH_WIDTHS(X, __vabsdiffu) BOTH_WIDTHS(        \
            X, __vsads) BOTH_WIDTHS(X, __vsadu) BOTH_WIDTHS(X, __vavgs) BOTH_WIDTHS(X, __vavgu)              \
            BOTH_WIDTHS(X, __vhaddu) BOTH_WIDTHS(X, __vmaxs) BOTH_WIDTHS(X, __vmaxu) BOTH_WIDTHS(X, __vmins) \
                BOTH_WIDTHS(X, __vminu) BOTH_WIDTHS(X, __vcmpeq) BOTH_WIDTHS(X, __vcmpne)                    \
                    BOTH_WIDTHS(X, __vcmpges) BOTH_WIDTHS(X, __vcmpgeu) BOTH_WIDTHS(X, __vcmpgts)            \
                        BOTH_WIDTHS(X, __vcmpgtu) BOTH_WIDTHS(X, __vcmples) BOTH_WIDTHS(X, __vcmpleu)        \
                            BOTH_WIDTHS(X, __vcmplts) BOTH_WIDTHS(X, __vcmpltu) BOTH_WIDTHS(X, __vseteq)     \
                                BOTH_WIDTHS(X, __vsetne) BOTH_WIDTHS(X, __vsetges) BOTH_WIDTHS(X, __vsetgeu) \
                                    BOTH_WIDTHS(X, __vsetgts) BOTH_WIDTHS(X, __vsetgtu) BOTH_WIDTHS(         \
                                        X, __vsetles) BOTH_WIDTHS(X, __vsetleu) BOTH_WIDTHS(X, __vsetlts)    \
                                        BOTH_WIDTHS(X, __vsetltu) X(__vimax_s16x2_relu)                      \
                                            X(__vimin_s16x2_relu) X(__vimax_s32_relu) X(__vimin_s32_relu)    \
                                                X(__hadd) X(__rhadd) X(__uhadd) X(__urhadd) X(__mulhi)       \
                                                    X(__umulhi) X(__mul24) X(__umul24) X(umin) X(umax)
#define THREE(X)                                                                                            \
    X(__vimax3_s16x2)                                                                                       \
    X(__vimin3_s16x2) X(__vimax3_u16x2) X(__vimin3_u16x2) X(__vimax3_s16x2_relu) X(__vimin3_s16x2_relu)     \
        X(__viaddmax_s16x2) X(__viaddmin_s16x2) X(__viaddmax_u16x2) X(__viaddmin_u16x2)                     \
            X(__viaddmax_s16x2_relu) X(__viaddmin_s16x2_relu) X(__vimax3_s32) X(__vimin3_s32)               \
                X(__vimax3_u32) X(__vimin3_u32) X(__vimax3_s32_relu) X(__vimin3_s32_relu) X(__viaddmax_s32) \
                    X(__viaddmin_s32) X(__viaddmax_u32) X(__viaddmin_u32) X(__viaddmax_s32_relu)            \
                        X(__viaddmin_s32_relu) X(__byte_perm) X(__funnelshift_l) X(__funnelshift_lc)        \
                            X(__funnelshift_r) X(__funnelshift_rc) X(__sad) X(__usad) X(signed_dp4a)        \
                                X(unsigned_dp4a) X(signed_dp2a_lo) X(unsigned_dp2a_lo) X(signed_dp2a_hi)    \
                                    X(unsigned_dp2a_hi) X(vector_dp4a) X(vector_dp2a_lo) X(vector_dp2a_hi)  \
                                        X(__fns)
#define COUNTS(X) X(__brev) X(__clz) X(__ffs) X(__popc)

__device__ unsigned signed_dp4a(unsigned a, unsigned b, unsigned c) {
    return __dp4a(int(a), int(b), int(c));
}
__device__ unsigned unsigned_dp4a(unsigned a, unsigned b, unsigned c) {
    return __dp4a(a, b, c);
}
__device__ unsigned signed_dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return __dp2a_lo(int(a), int(b), int(c));
}
__device__ unsigned unsigned_dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return __dp2a_lo(a, b, c);
}
__device__ unsigned signed_dp2a_hi(unsigned a, unsigned b, unsigned c) {
    return __dp2a_hi(int(a), int(b), int(c));
}
__device__ unsigned unsigned_dp2a_hi(unsigned a, unsigned b, unsigned c) {
    return __dp2a_hi(a, b, c);
}
__device__ char4 bytes(unsigned a) {
    return make_char4(a, a >> 8, a >> 16, a >> 24);
}
__device__ short2 halves(unsigned a) {
    return make_short2(a, a >> 16);
}
__device__ unsigned vector_dp4a(unsigned a, unsigned b, unsigned c) {
    return __dp4a(bytes(a), bytes(b), int(c));
}
__device__ unsigned vector_dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return __dp2a_lo(halves(a), bytes(b), int(c));
}
__device__ unsigned vector_dp2a_hi(unsigned a, unsigned b, unsigned c) {
    return __dp2a_hi(halves(a), bytes(b), int(c));
}

enum {
#define NAME(name) at_##name,
    ONE(NAME) TWO(NAME) THREE(NAME) COUNTS(NAME) functions
};
const char* const names[] = {
#define STRING(name) #name,
    ONE(STRING) TWO(STRING) THREE(STRING) COUNTS(STRING)};

__global__ void compute(const unsigned* words, unsigned* results) {
    const int f = blockIdx.x, i = threadIdx.x;
    const unsigned a = words[3 * i], b = words[3 * i + 1], c = words[3 * i + 2];
    unsigned r = 0;
    switch (f) {
#define CASE(name, ...)    \
    case at_##name:        \
        r = (__VA_ARGS__); \
        break;
#define CASE_1(name) CASE(name, name(a))
#define CASE_2(name) CASE(name, name(a, b))
#define CASE_3(name) CASE(name, name(a, b, c))
        ONE(CASE_1) TWO(CASE_2) THREE(CASE_3) COUNTS(CASE_1)
    }
    results[f * blockDim.x + i] = r;
}

// What the comparison said, in the two lowest bits: high, low.
__global__ void choices(const unsigned* words, unsigned* results) {
    const int i = threadIdx.x;
    const unsigned a = words[3 * i], b = words[3 * i + 1];
    bool high = false, low = false;
    unsigned* r = results + 16 * i;
#define TWO_LANES(name)             \
    *r++ = name(a, b, &high, &low); \
    *r++ = high * 2 + low;
#define ONE_LANE(name)       \
    *r++ = name(a, b, &low); \
    *r++ = low;
    TWO_LANES(__vibmax_s16x2)
    TWO_LANES(__vibmin_s16x2) TWO_LANES(__vibmax_u16x2) TWO_LANES(__vibmin_u16x2) ONE_LANE(__vibmax_s32)
        ONE_LANE(__vibmin_s32) ONE_LANE(__vibmax_u32) ONE_LANE(__vibmin_u32)
}

__global__ void long_functions(const unsigned* words, unsigned long long* results) {
    const int i = threadIdx.x;
    const unsigned long long a = (unsigned long long)words[3 * i] << 32 | words[3 * i + 1],
                             b = (unsigned long long)words[3 * i + 2] << 32 | words[3 * i];
    unsigned long long* r = results + 12 * i;
    r[0] = __brevll(a);
    r[1] = __clzll(a);
    r[2] = __ffsll(a);
    r[3] = __popcll(a);
    r[4] = __mul64hi(a, b);
    r[5] = __umul64hi(a, b);
    r[6] = llmin(a, b);
    r[7] = llmax(a, b);
    r[8] = ullmin(a, b);
    r[9] = ullmax(a, b);
    r[10] = llabs(a);
    r[11] = __double_as_longlong(__hiloint2double(words[3 * i], words[3 * i + 1]));
}

int main() {
    const unsigned corners[] = {0,          1,          0x80008000, 0x7fff8001, 0xffffffff, 0x80808080,
                                0x7f80ff01, 0x00ff00ff, 0x12345678, 0xfffefffd, 0x80000000, 0x7fffffff};
    std::vector<unsigned> words;
    unsigned random = 12345;
    for (unsigned a : corners)
        for (unsigned b : corners) {
            words.push_back(a);
            words.push_back(b);
            words.push_back(random = random * 1664525u + 1013904223u);
        }
    for (int i = 0; i < 3 * 100; ++i)
        words.push_back((random = random * 1664525u + 1013904223u) >> (random >> 28));
    const int count = int(words.size() / 3);
    unsigned *dw, *dr;
    unsigned long long* dl;
    std::vector<unsigned> results(functions * count), chosen(16 * count);
    std::vector<unsigned long long> longs(12 * count);
    cudaMalloc(&dw, words.size() * 4);
    cudaMalloc(&dr, results.size() * 4);
    cudaMalloc(&dl, longs.size() * 8);
    cudaMemcpy(dw, words.data(), words.size() * 4, cudaMemcpyHostToDevice);
    compute<<<functions, count>>>(dw, dr);
    cudaMemcpy(results.data(), dr, results.size() * 4, cudaMemcpyDeviceToHost);
    choices<<<1, count>>>(dw, dr);
    cudaMemcpy(chosen.data(), dr, chosen.size() * 4, cudaMemcpyDeviceToHost);
    long_functions<<<1, count>>>(dw, dl);
    cudaMemcpy(longs.data(), dl, longs.size() * 8, cudaMemcpyDeviceToHost);
    for (int f = 0; f < functions; ++f)
        for (int i = 0; i < count; ++i)
            printf("%s %u %u %u = %u\n", names[f], words[3 * i], words[3 * i + 1], words[3 * i + 2],
                   results[f * count + i]);
    const char* const choice_names[] = {"__vibmax_s16x2", "__vibmin_s16x2", "__vibmax_u16x2",
                                        "__vibmin_u16x2", "__vibmax_s32",   "__vibmin_s32",
                                        "__vibmax_u32",   "__vibmin_u32"};
    const char* const long_names[] = {"__brevll",  "__clzll",    "__ffsll", "__popcll",
                                      "__mul64hi", "__umul64hi", "llmin",   "llmax",
                                      "ullmin",    "ullmax",     "llabs",   "__hiloint2double"};
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < 8; ++j) {
            printf("%s %u %u 0 = %u\n", choice_names[j], words[3 * i], words[3 * i + 1],
                   chosen[16 * i + 2 * j]);
            printf("%s.chosen %u %u 0 = %u\n", choice_names[j], words[3 * i], words[3 * i + 1],
                   chosen[16 * i + 2 * j + 1]);
        }
        for (int j = 0; j < 12; ++j)
            printf("%s %llu %llu 0 = %llu\n", long_names[j],
                   (unsigned long long)words[3 * i] << 32 | words[3 * i + 1],
                   (unsigned long long)words[3 * i + 2] << 32 | words[3 * i], longs[12 * i + j]);
    }
}
