"""asm statements in .cu files: what they compute, and where they are refused."""

import re

from cuda_programs import compiled, needs_clang, nvcc, output_of, run

pytestmark = needs_clang

CHECKS = r"""
#include <cstdio>
#include <cstdint>
struct Results { unsigned u[40][32]; unsigned long long l[4][32]; float f[2][32]; double d[32]; unsigned short h[32]; };
__device__ unsigned lane() { unsigned r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
template <int N> __device__ unsigned add_constant(unsigned x) { unsigned r; asm("add.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "n"(N)); return r; }

__global__ void operands(Results* out, const unsigned* in) {
    const unsigned t = threadIdx.x;
    unsigned r;
    // A scope with names of its own, predicates, an immediate.
    asm("{\n\t.reg .pred p;\n\t.reg .u32 t1;\n\tsetp.gt.u32 p, %1, %2;\n\tmov.u32 t1, 7;\n\t@p mov.u32 t1, 100;\n\tadd.u32 %0, %1, t1;\n\t}"
        : "=r"(r) : "r"(t), "n"(5));
    out->u[0][t] = r;
    // Two results, and the carry between two instructions.
    unsigned low, high;
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(0xFFFFFFF0u), "r"(t));
    out->u[1][t] = low, out->u[2][t] = high;
    // Read and written, with a loop; used twice, so that labels are there twice.
    for (int k = 0; k < 2; ++k) {
        unsigned x = t + k;
        asm volatile("{ .reg .u32 i; .reg .pred q; mov.u32 i, 0;\nLOOP:\n add.u32 %0, %0, 2; add.u32 i, i, 1; setp.lt.u32 q, i, 10; @q bra LOOP; }"
                     : "+r"(x) : : "memory");
        out->u[3 + k][t] = x;
    }
    // 64 bits, single, double, 16 bits.
    unsigned long long wide;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(0x10000u + t), "r"(0x10001u));
    out->l[0][t] = wide;
    asm("fma.rn.f32 %0, %1, %2, 0f3F800000;" : "=f"(out->f[0][t]) : "f"(2.0f * t), "f"(3.0f));
    asm("sqrt.rn.f64 %0, %1;" : "=d"(out->d[t]) : "d"((double)t * t));
    asm("add.u16 %0, %1, 3;" : "=h"(out->h[t]) : "h"((unsigned short)t));
    // Addresses: of shared memory in 32 bits, of global memory as a pointer, a vector.
    alignas(16) __shared__ unsigned tile[32];
    tile[t] = 3 * t;
    __syncthreads();
    const unsigned place = (unsigned)__cvta_generic_to_shared(&tile[31 - t]);
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(place) : "memory");
    out->u[5][t] = r;
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(place), "r"(r + 1) : "memory");
    asm volatile("bar.sync 0;" ::: "memory");
    out->u[6][t] = tile[t];
    unsigned v[4];
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(in + 4 * t));
    out->u[7][t] = v[0] + 10 * v[1] + 100 * v[2] + 1000 * v[3];
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(wide));
    out->u[8][t] = low ^ high;
    out->u[9][t] = lane();
    out->u[10][t] = add_constant<5>(t) + add_constant<-3>(t);
    // Clocks run, and without operands there is nothing to substitute.
    unsigned long long before, after, timer;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(before));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(after));
    out->u[11][t] = after >= before && timer != 0;
    asm volatile("");
    asm volatile("membar.gl; // nothing is done with $ or %% or {braces} in comments");
    const int* nothing = nullptr;
    unsigned long long address;
    asm("add.u64 %0, %1, 16;" : "=l"(address) : "l"(nothing));
    out->l[1][t] = address;
    bool flag = t % 3 == 0;
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; selp.u32 %0, 11, 22, p; }" : "=r"(r) : "r"((unsigned)flag));
    out->u[12][t] = r;
}

/// Copies that run behind a barrier in shared memory.
__global__ void barriers(Results* out, const unsigned* in) {
    alignas(16) __shared__ unsigned tile[32];
    __shared__ uint64_t bar;
    const unsigned t = threadIdx.x, place = (unsigned)__cvta_generic_to_shared(&bar);
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place), "r"(32));
    __syncthreads();
    for (unsigned phase = 0; phase < 3; ++phase) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&tile[t])), "l"(in + 32 * phase + t) : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(place) : "memory");
        asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(place), "r"(phase & 1) : "memory");
        out->u[13 + phase][t] = tile[31 - t];
        __syncthreads();
    }
    uint64_t state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(place) : "memory");
    unsigned done = 0, turns = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(place), "l"(state) : "memory");
        ++turns;
    }
    out->u[16][t] = turns > 0;
    unsigned elected, is_elected;
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }" : "=r"(elected), "=r"(is_elected) : "r"(0xFFFFFFFFu));
    out->u[17][t] = 10 * elected + is_elected;
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(&out->f[1][0]), "f"(1.5f) : "memory");
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(&out->u[18][0]), "r"(0x3F804000) : "memory");
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(&out->f[1][2]), "f"(1.0f), "f"(2.0f) : "memory");
}

int main() {
    Results* results;
    unsigned *in, host[128];
    for (unsigned i = 0; i < 128; ++i) host[i] = i;
    cudaMalloc((void**)&results, sizeof(Results));
    cudaMalloc((void**)&in, sizeof host);
    static Results r;
    cudaMemcpy(results, &r, sizeof r, cudaMemcpyHostToDevice);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    operands<<<1, 32>>>(results, in);
    barriers<<<1, 32>>>(results, in);
    cudaMemcpy(&r, results, sizeof r, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (unsigned t = 0; t < 32; ++t) {
        const unsigned low = 0xFFFFFFF0u + t;
        const unsigned long long wide = (0x10000ull + t) * 0x10001u;
        const unsigned expected[] = {t + (t > 5 ? 100 : 7), low, t >= 16, t + 20, t + 21, 3 * (31 - t), 3 * t + 1,
                                     4 * t + 10 * (4 * t + 1) + 100 * (4 * t + 2) + 1000 * (4 * t + 3),
                                     (unsigned)wide ^ (unsigned)(wide >> 32), t, 2 * t + 2, 1, t % 3 == 0 ? 11u : 22u,
                                     31 - t, 63 - t, 95 - t, 1, t == 0 ? 1u : 0u};
        for (unsigned k = 0; k < sizeof expected / sizeof *expected; ++k)
            if (r.u[k][t] != expected[k]) printf("thread %u, %u: %u instead of %u\n", t, k, r.u[k][t], expected[k]), ++wrong;
        if (r.l[0][t] != wide || r.l[1][t] != 16 || r.f[0][t] != 6.0f * t + 1 || r.d[t] != t || r.h[t] != t + 3)
            printf("thread %u: %llx %llx %g %g %d\n", t, r.l[0][t], r.l[1][t], r.f[0][t], r.d[t], r.h[t]), ++wrong;
    }
    printf("%g %x %g %g\n", r.f[1][0], r.u[18][0], r.f[1][2], r.f[1][3]);
    return wrong;
}
"""


def test_operands_scopes_labels_and_barriers(tmp_path):
    assert output_of(CHECKS, tmp_path) == "48 42004280 32 64\n"


WRONG = """__device__ unsigned twice(unsigned x) {
    unsigned r;
    asm("nonsense.u32 %0, %1;" : "=r"(r) : "r"(x));
    return r;
}
__global__ void kernel(unsigned* out) {
    unsigned a = twice(1);
    asm volatile("mov.u32 %0, %%tid.x;"
                 "\\n\\t"
                 "add.u32 %0, %0, undeclared;"
                 : "+r"(a));
    asm volatile("{ bra NOWHERE; }");
    out[0] = a;
}
int main() { kernel<<<1, 1>>>(nullptr); }
"""


def test_what_cannot_be_translated_is_an_error_at_its_line(tmp_path):
    (tmp_path / "wrong.cu").write_text(WRONG)
    result = nvcc("-o", "wrong", "wrong.cu", cwd=tmp_path)
    assert result.returncode != 0
    found = (re.search(r"wrong\.cu:(\d+):(?:\d+:)? (error: .*)", line) for line in result.stderr.splitlines())
    errors = [f"{place[1]}: {place[2]}" for place in found if place]
    assert errors == [
        "3: error: inline assembly, line 1, \"nonsense.u32 %0, %1;\": the instruction 'nonsense.u32' is not supported",
        "8: error: inline assembly, line 2, \"add.u32 %0, %0, undeclared;\": 'undeclared' is not declared",
        "12: error: inline assembly, line 1, \"{ bra NOWHERE; }\": there is no label 'NOWHERE'",
    ]
    assert not (tmp_path / "wrong").exists()


FAULTY = """__global__ void kernel(unsigned* out) {
    unsigned long long place = (unsigned long long)(out + 1000 * threadIdx.x);

    asm volatile("st.global.u32 [%0], 7;" ::"l"(place) : "memory");
}
int main() {
    unsigned* out;
    cudaMalloc((void**)&out, 64);
    kernel<<<1, 4>>>(out);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}
"""


def test_what_an_asm_statement_does_is_checked_and_has_its_line(tmp_path):
    result = run(compiled(FAULTY, tmp_path))
    assert result.returncode != 0
    assert "program.cu:4" in result.stderr
    assert 'asm volatile("st.global.u32 [%0], 7;"' in result.stderr


CARRY = """
#include <cstdio>
typedef unsigned int word;
namespace low {
__device__ __forceinline__ word add_cc(word a, word b) { word r; asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ __forceinline__ word addc_cc(word a, word b) { word r; asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ __forceinline__ word addc(word a, word b) { word r; asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ void madc_hi(word& r, word a, word b) { asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;" : "+r"(r) : "r"(a), "r"(b)); }
}
template <class T> __device__ T next(T a, T b) { return low::addc_cc(a, b); }

// A wrapper for each instruction, one wrapped twice, in a loop.
template <int N> __device__ word sum(word* r, const word* a, const word* b) {
    r[0] = low::add_cc(a[0], b[0]);
#pragma unroll
    for (int i = 1; i < N; ++i) r[i] = i % 2 ? next(a[i], b[i]) : low::addc_cc(a[i], b[i]);
    return low::addc(0, 0);
}
// Statements of one function, borrows, 64 bits; code between them that adds.
__device__ void difference(unsigned long long* r, const unsigned long long* a, const unsigned long long* b, int& steps) {
    asm volatile("sub.cc.u64 %0, %1, %2;" : "=l"(r[0]) : "l"(a[0]), "l"(b[0]));
    for (int i = 1; i < 3; ++i) {
        asm volatile("subc.cc.u64 %0, %1, %2;" : "=l"(r[i]) : "l"(a[i]), "l"(b[i]));
        steps += i;
    }
    asm volatile("subc.u64 %0, 0, 0;" : "=l"(r[3]));
}
__global__ void kernel(word* out, const word* a, const word* b) {
    word r[4];
    for (int i = 0; i < 3; ++i) out[i] = 0;
    out[3] = sum<3>(out, a, b);
    asm volatile("add.cc.u32 %0, %1, %1;" : "=r"(r[0]) : "r"(a[0]));
    r[1] = 1, low::madc_hi(r[1], a[0], 5);
    asm volatile("addc.u32 %0, %1, 0;" : "=r"(r[2]) : "r"(b[0]));
    for (int i = 0; i < 3; ++i) out[4 + i] = r[i];
    const unsigned long long x[3] = {1, 0, 7}, y[3] = {2, ~0ull, 6};
    unsigned long long d[4];
    int steps = 0;
    difference(d, x, y, steps);
    printf("%llx %llx %llx %llx %d\\n", d[0], d[1], d[2], d[3], steps);
}
int main() {
    const word a[] = {0xFFFFFFFFu, 0xFFFFFFFFu, 5}, b[] = {1, 0, 6};
    word *device, host[7];
    cudaMalloc(&device, 64);
    cudaMemcpy(device, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(device + 3, b, sizeof b, cudaMemcpyHostToDevice);
    kernel<<<1, 1>>>(device + 6, device, device + 3);
    cudaMemcpy(host, device + 6, sizeof host, cudaMemcpyDeviceToHost);
    for (word each : host) printf("%x ", each);
    puts("");
}
"""


def test_the_carry_goes_from_statement_to_statement(tmp_path):
    assert output_of(CARRY, tmp_path) == "ffffffffffffffff 0 0 0 3\n0 0 c 0 fffffffe 6 1 \n"
