"""Matrices that a warp multiplies (mma, wmma) and moves (ldmatrix, stmatrix, movmatrix), in inline PTX.

Fragments are filled as the PTX ISA lays them out ("Matrix Fragments for mma.m16n8k16" and its neighbours).
"""

from cuda_programs import needs_clang, output_of

pytestmark = needs_clang

PROGRAM = r"""
#include <cstdio>
#include <cstdint>
struct Results { float half[128], brain[128], tensor[128]; int integers[128], limited[128]; double doubles[64]; float eight[128]; uint32_t moved[6][32]; float warp[256]; unsigned short stored[64]; };

__host__ __device__ int a(int row, int k) { return (7 * row + 3 * k) % 11 - 5; }
__host__ __device__ int b(int k, int column) { return (5 * k + 2 * column) % 13 - 6; }

__device__ uint32_t bits(float x) { return __float_as_int(x); }
__device__ uint32_t half(int x) { unsigned short h; float f = x; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
__device__ uint32_t halves(int low, int high) { return half(low) | half(high) << 16; }
__device__ uint32_t brains(int low, int high) { return bits(low) >> 16 | (bits(high) & 0xFFFF0000u); }
__device__ uint32_t bytes(int w, int x, int y, int z) { return (w & 255) | (x & 255) << 8 | (y & 255) << 16 | (uint32_t)(z & 255) << 24; }

__global__ void multiply(Results* out) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    float f[4] = {1, 2, 3, 4};
#define PAIR(pack, row, k) pack(a(row, k), a(row, (k) + 1))
#define COLUMN(pack, k) pack(b(k, g), b((k) + 1, g))
#define STORE(target, values) \
    for (int i = 0; i < 4; ++i) target[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = values[i]
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
        : "r"(PAIR(halves, g, 2 * t)), "r"(PAIR(halves, g + 8, 2 * t)), "r"(PAIR(halves, g, 2 * t + 8)), "r"(PAIR(halves, g + 8, 2 * t + 8)),
          "r"(COLUMN(halves, 2 * t)), "r"(COLUMN(halves, 2 * t + 8)));
    STORE(out->half, f);
    float h[4];
    asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
        : "=f"(h[0]), "=f"(h[1]), "=f"(h[2]), "=f"(h[3])
        : "r"(PAIR(brains, g, 2 * t)), "r"(PAIR(brains, g + 8, 2 * t)), "r"(COLUMN(brains, 2 * t)), "f"(0.5f));
    STORE(out->brain, h);
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(h[0]), "=f"(h[1]), "=f"(h[2]), "=f"(h[3])
        : "r"(bits(a(g, t))), "r"(bits(a(g + 8, t))), "r"(bits(a(g, t + 4))), "r"(bits(a(g + 8, t + 4))), "r"(bits(b(t, g))), "r"(bits(b(t + 4, g))), "f"(0.0f));
    STORE(out->tensor, h);
    int n[4];
#define FOUR(row, k) bytes(a(row, k), a(row, (k) + 1), a(row, (k) + 2), a(row, (k) + 3))
#define FOUR_DOWN(k) bytes(b(k, g), b((k) + 1, g), b((k) + 2, g), b((k) + 3, g))
#define INTEGERS(modifier, addend) \
    asm("mma.sync.aligned.m16n8k32.row.col" modifier ".s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};" \
        : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]), "=r"(n[3]) \
        : "r"(FOUR(g, 4 * t)), "r"(FOUR(g + 8, 4 * t)), "r"(FOUR(g, 4 * t + 16)), "r"(FOUR(g + 8, 4 * t + 16)), "r"(FOUR_DOWN(4 * t)), "r"(FOUR_DOWN(4 * t + 16)), "r"(addend))
    INTEGERS("", 10);
    STORE(out->integers, n);
    INTEGERS(".satfinite", 0x7FFFFFFF);
    STORE(out->limited, n);
    double d[2];
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %4};"
        : "=d"(d[0]), "=d"(d[1]) : "d"((double)a(g, t)), "d"((double)b(t, g)), "d"(0.25));
    out->doubles[g * 8 + 2 * t] = d[0], out->doubles[g * 8 + 2 * t + 1] = d[1];
    // 0x38 is 1.0, 0x40 is 2.0 in e4m3.
    const uint32_t ones = 0x38383838, twos = 0x40404040;
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %6}, {%7, %7, %7, %7};"
        : "=f"(h[0]), "=f"(h[1]), "=f"(h[2]), "=f"(h[3]) : "r"(ones), "r"(twos), "r"(twos), "f"(0.0f));
    STORE(out->eight, h);

    alignas(16) __shared__ unsigned short tile[4][8][8];
    for (int i = lane; i < 256; i += 32) (&tile[0][0][0])[i] = i;
    __syncwarp();
    const uint32_t row = (uint32_t)__cvta_generic_to_shared(&tile[lane / 8][lane % 8][0]);
    uint32_t r[4], s[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
    for (int i = 0; i < 4; ++i) out->moved[i][lane] = r[i];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%0}, [%1];" : "=r"(s[0]) : "r"(row) : "memory");
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(s[1]) : "r"(r[0]));
    out->moved[4][lane] = s[0], out->moved[5][lane] = s[1];
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row), "r"(s[0] + 0x00010001) : "memory");
    __syncwarp();
    for (int i = lane; i < 64; i += 32) out->stored[i] = (&tile[0][0][0])[i];
}

__global__ void with_fragments(Results* out, const unsigned short* left, const unsigned short* right) {
    asm volatile("{ .reg .b32 a<8>, b<8>, c<8>;\n"
                 "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a0, a1, a2, a3, a4, a5, a6, a7}, [%0], %3;\n"
                 "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {b0, b1, b2, b3, b4, b5, b6, b7}, [%1], %3;\n"
                 "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {c0, c1, c2, c3, c4, c5, c6, c7}, [%2], %3;\n"
                 "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {c0, c1, c2, c3, c4, c5, c6, c7}, {a0, a1, a2, a3, a4, a5, a6, a7}, {b0, b1, b2, b3, b4, b5, b6, b7}, {c0, c1, c2, c3, c4, c5, c6, c7};\n"
                 "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%2], {c0, c1, c2, c3, c4, c5, c6, c7}, %3; }"
                 ::"l"(left), "l"(right), "l"(out->warp), "r"(16) : "memory");
}
__global__ void fill(unsigned short* left, unsigned short* right, float* sums) {
    const int i = threadIdx.x;
    left[i] = half(a(i / 16, i % 16)), right[i] = half(b(i % 16, i / 16)), sums[i] = i;
}

int wrong = 0;
template <class T> void check(const char* name, const T* found, int rows, int columns, int k, double addend, bool limited = false) {
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
            double sum = addend;
            for (int i = 0; i < k; ++i) sum += a(row, i) * b(i, column);
            if (limited && sum > 2147483647.0) sum = 2147483647.0;
            if (addend < 0) sum += 1 + (column % 2) + 2 * (row / 8) - addend;
            if (found[row * columns + column] != sum && wrong++ < 20)
                printf("%s: row %d, column %d: %g instead of %g\n", name, row, column, (double)found[row * columns + column], sum);
        }
}

int main() {
    Results* results;
    unsigned short* matrices;
    cudaMalloc((void**)&results, sizeof(Results));
    cudaMalloc((void**)&matrices, 1024);
    multiply<<<1, 32>>>(results);
    fill<<<1, 256>>>(matrices, matrices + 256, results->warp);
    with_fragments<<<1, 32>>>(results, matrices, matrices + 256);
    static Results r;
    cudaMemcpy(&r, results, sizeof r, cudaMemcpyDeviceToHost);
    check("f16", r.half, 16, 8, 16, -1);
    check("bf16", r.brain, 16, 8, 8, 0.5);
    check("tf32", r.tensor, 16, 8, 8, 0);
    check("s8", r.integers, 16, 8, 32, 10);
    check("s8.satfinite", r.limited, 16, 8, 32, 2147483647.0, true);
    check("f64", r.doubles, 8, 8, 4, 0.25);
    for (int i = 0; i < 256; ++i) r.warp[i] -= i;
    check("wmma", r.warp, 16, 16, 16, 0);
    for (int i = 0; i < 128; ++i)
        if (r.eight[i] != (i < 64 ? 64 : 128)) printf("e4m3: %d: %g\n", i, r.eight[i]), ++wrong;
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned i = 0; i < 4; ++i)
            if (r.moved[i][lane] != (64 * i + 2 * lane | (64 * i + 2 * lane + 1) << 16)) printf("ldmatrix: %u\n", lane), ++wrong;
        const unsigned first = lane % 4 * 16 + lane / 4;
        for (unsigned i = 4; i < 6; ++i)
            if (r.moved[i][lane] != (first | (first + 8) << 16)) printf("%u: transposed %u: %x\n", i, lane, r.moved[i][lane]), ++wrong;
    }
    for (unsigned i = 0; i < 64; ++i)
        if (r.stored[i] != i + 1) printf("stmatrix: %u: %u\n", i, r.stored[i]), ++wrong;
    puts(wrong ? "wrong" : "all right");
}
"""


def test_products_and_moved_matrices(tmp_path):
    assert output_of(PROGRAM, tmp_path) == "all right\n"


BITS = r"""
#include <cstdio>
#include <cstdint>
__host__ __device__ uint32_t word(uint32_t i) { i *= 0x9E3779B1u, i ^= i >> 15, i *= 0x85EBCA77u; return i ^ i >> 13; }
__host__ __device__ uint32_t left(int row, int k) { return word(row * 8 + k); }        // 32 bits of a row
__host__ __device__ uint32_t right(int k, int column) { return word(999 + column * 8 + k); }
#define MULTIPLY(how, out) \
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32." how ".popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};" \
        : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]), "=r"(n[3])                                                         \
        : "r"(left(g, t)), "r"(left(g + 8, t)), "r"(left(g, t + 4)), "r"(left(g + 8, t + 4)), "r"(right(t, g)), "r"(right(t + 4, g)), "r"(7)); \
    for (int i = 0; i < 4; ++i) out[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = n[i];
__global__ void multiply(int* both, int* one, int* small) {
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    int n[4];
    MULTIPLY("and", both)
    MULTIPLY("xor", one)
    asm("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%0, %1}, {%2}, {%3}, {%4, %4};"
        : "=r"(n[0]), "=r"(n[1]) : "r"(left(g, t)), "r"(right(t, g)), "r"(-3));
    small[g * 8 + 2 * t] = n[0], small[g * 8 + 2 * t + 1] = n[1];
}
int main() {
    int *both, *one, *small, wrong = 0;
    cudaMallocManaged(&both, 512);
    cudaMallocManaged(&one, 512);
    cudaMallocManaged(&small, 256);
    multiply<<<1, 32>>>(both, one, small);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
            int sums[3] = {7, 7, -3};
            for (int k = 0; k < 8; ++k) {
                sums[0] += __builtin_popcount(left(row, k) & right(k, column));
                sums[1] += __builtin_popcount(left(row, k) ^ right(k, column));
                if (k < 4) sums[2] += __builtin_popcount(left(row, k) & right(k, column));
            }
            const int i = row * 8 + column;
            wrong += both[i] != sums[0] || one[i] != sums[1] || (row < 8 && small[i] != sums[2]);
        }
    printf("%d wrong\n", wrong);
}
"""


def test_matrices_of_bits(tmp_path):
    assert output_of(BITS, tmp_path) == "0 wrong\n"
