"""Device functions as people write them in CUDA C++, compiled by nvcc -rdc=true and called from kernels: what their PTX is
made of is translated, and gives C++'s values."""

import numpy as np
import pytest
from cudasim import cuda
from ptx_programs import call, function

pytestmark = pytest.mark.usefixtures("nvcc")


def declared(source, **signatures):
    code = cuda.CUSource(source, name="program.cu")
    return [
        cuda.declare_device(name, signature, link=code, abi="c") for name, signature in signatures.items()
    ]


def address(array):
    return array.__cuda_array_interface__["data"][0]


def test_functions_in_tables_and_behind_virtual_calls():
    apply, choose, areas = declared(
        """
        typedef float (*Operation)(float, float);
        __device__ float plus(float a, float b) { return a + b; }
        __device__ float times(float a, float b) { return a * b; }
        __device__ Operation table[2] = {plus, times};
        extern "C" __device__ float apply(int k, float a, float b) { return table[k](a, b); }
        extern "C" __device__ float choose(int k, float a, float b) { Operation f = k ? plus : times; return f(a, b); }
        struct Shape { __device__ virtual float area() const = 0; };
        struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
        struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.f * r * r; } };
        __device__ __noinline__ float difference(const Shape* a, const Shape* b) { return a->area() - b->area(); }
        extern "C" __device__ float areas(float x) { Square s(x); Circle c(x); return x > 2 ? difference(&s, &c) : difference(&c, &s); }
        """,
        apply="float32(int32, float32, float32)",
        choose="float32(int32, float32, float32)",
        areas="float32(float32)",
    )

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = apply(i % 2, i, 3)
        out[1, i] = choose(i % 2, i, 3)
        out[2, i] = areas(i)

    out, i = np.zeros((3, 64), np.float32), np.arange(64)
    kernel[1, 64](out)
    assert np.array_equal(out[0], np.where(i % 2, i * 3, i + 3))
    assert np.array_equal(out[1], np.where(i % 2, i + 3, i * 3))
    assert np.array_equal(out[2], np.where(i > 2, -2 * i * i, 2 * i * i))


def test_switches_recursion_and_local_arrays():
    act, fibonacci, local = declared(
        """
        extern "C" __device__ int act(int k, int x) {
            int p[4] = {x, x + 1, x + 2, x + 3};
            switch (k) {
                case 0: p[0] += 5; p[1] = p[2]; break;
                case 1: p[1] *= p[3]; break;
                case 2: p[2] -= p[0] * 7; p[3] = 1; break;
                case 3: for (int i = 0; i < 4; i++) p[i] = p[3 - i] * i; break;
                case 4: p[3] ^= p[0] << 2;
                case 5: p[0] = p[1] / 3; break;
                case 6: p[2] = p[1] % 5; break;
                default: return -1;
            }
            return p[0] + 10 * p[1] + 100 * p[2] + 1000 * p[3];
        }
        extern "C" __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
        __device__ __noinline__ void fill(short* p, int n) { for (int i = 0; i < n; i++) p[i] = i * n; }
        extern "C" __device__ int local(int n) { short a[16]; fill(a, n); int s = 0; for (int i = 0; i < n; i++) s += a[(i * 3) % n]; return s; }
        """,
        act="int32(int32, int32)",
        fibonacci="int32(int32)",
        local="int32(int32)",
    )

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = act(i % 8, i)
        out[1, i] = fibonacci(i % 10)
        out[2, i] = local(1 + i % 16)

    def acted(k, x):
        p = [x, x + 1, x + 2, x + 3]
        if k == 0:
            p[0], p[1] = p[0] + 5, p[2]
        elif k == 1:
            p[1] *= p[3]
        elif k == 2:
            p[2], p[3] = p[2] - p[0] * 7, 1
        elif k == 3:
            for i in range(4):
                p[i] = p[3 - i] * i
        elif k in (4, 5):
            if k == 4:
                p[3] ^= p[0] << 2
            p[0] = p[1] // 3
        elif k == 6:
            p[2] = p[1] % 5
        else:
            return -1
        return p[0] + 10 * p[1] + 100 * p[2] + 1000 * p[3]

    out = np.zeros((3, 32), np.int32)
    kernel[1, 32](out)
    assert out[0].tolist() == [acted(i % 8, i) for i in range(32)]
    assert out[1].tolist() == [[0, 1, 1, 2, 3, 5, 8, 13, 21, 34][i % 10] for i in range(32)]
    assert out[2].tolist() == [
        sum(((j * 3) % n) * n for j in range(n)) for n in (1 + i % 16 for i in range(32))
    ]


def test_variables_that_hold_addresses():
    counted, letters = declared(
        """
        __constant__ float coefficients[4] = {1.f, 2.f, 3.f, 4.f};
        __device__ int counter = 5;
        __device__ int* where = &counter;
        struct Row { const char* text; int length; const float* factor; };
        __device__ int numbers[6] = {1, 2, 3, 4, 5, 6};
        __device__ int* inside = numbers + 4;
        extern "C" __device__ float counted(int i) { return coefficients[i & 3] + *where + inside[-i & 3]; }
        __device__ const char* names[3] = {"ab", "cde", "f"};
        extern "C" __device__ int letters(int i) { const char* s = names[i % 3]; int n = 0; while (*s) n = n * 100 + *s++ - 'a' + 1; return n; }
        """,
        counted="float32(int32)",
        letters="int32(int32)",
    )

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = counted(-i)
        out[1, i] = letters(i)

    out = np.zeros((2, 2), np.float32)
    kernel[1, 2](out)
    assert out.tolist() == [[1 + 5 + 5, 4 + 5 + 6], [102, 30405]]


def test_groups_of_a_block_and_shared_memory():
    tiles, coalesced = declared(
        """
        #include <cooperative_groups.h>
        #include <cooperative_groups/reduce.h>
        namespace cg = cooperative_groups;
        extern "C" __device__ int tiles(int x) {
            auto block = cg::this_thread_block();
            __shared__ int s[128];
            s[block.thread_rank()] = x;
            block.sync();
            auto tile = cg::tiled_partition<8>(block);
            int v = s[(block.thread_rank() + 1) % block.size()];
            return cg::reduce(tile, v, cg::plus<int>()) + 1000 * tile.meta_group_rank();
        }
        extern "C" __device__ int coalesced(int x) {
            if (x % 3 == 0) { auto group = cg::coalesced_threads(); return group.thread_rank() * 100 + group.size(); }
            return -1;
        }
        """,
        tiles="int32(int32)",
        coalesced="int32(int32)",
    )

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = tiles(i)
        out[1, i] = coalesced(i % 32)

    out = np.zeros((2, 64), np.int32)
    kernel[1, 64](out)
    shifted = np.roll(np.arange(64), -1).reshape(8, 8).sum(axis=1)
    assert out[0].tolist() == [int(shifted[i // 8]) + 1000 * (i // 8) for i in range(64)]
    assert out[1].tolist() == [(i % 32) // 3 * 100 + 11 if i % 32 % 3 == 0 else -1 for i in range(64)]


def test_a_grid_meets_as_cuda_cpp_writes_it():
    (meet,) = declared(
        """
        #include <cooperative_groups.h>
        extern "C" __device__ unsigned meet() { auto g = cooperative_groups::this_grid(); g.sync(); return g.thread_rank(); }
        """,
        meet="uint32()",
    )

    @cuda.jit
    def kernel(counts, out):
        i = cuda.grid(1)
        for round in range(3):
            cuda.atomic.add(counts, round, 1)
            out[i, round] = meet()
            if counts[round] != counts.size * 32:
                out[i, round] = -1

    counts, out = np.zeros(8, np.int32), np.zeros((256, 3), np.int64)
    kernel[8, 32](counts, out)
    assert counts.tolist() == [256] * 3 + [0] * 5
    assert np.array_equal(out, np.repeat(np.arange(256), 3).reshape(256, 3))


def test_asynchronous_copies():
    copied, pipelined = declared(
        """
        #include <cooperative_groups.h>
        #include <cooperative_groups/memcpy_async.h>
        #include <cuda_pipeline.h>
        namespace cg = cooperative_groups;
        extern "C" __device__ float copied(unsigned long long from, int n) {
            __shared__ float s[64];
            auto block = cg::this_thread_block();
            cg::memcpy_async(block, s, (const float*)from, sizeof(float) * n);
            cg::wait(block);
            return s[(threadIdx.x + 1) % n];
        }
        extern "C" __device__ float pipelined(unsigned long long from) {
            __shared__ float4 s[64];
            __pipeline_memcpy_async(&s[threadIdx.x], (const float4*)from + threadIdx.x / 4, 16, threadIdx.x % 2 ? 8 : 0);
            __pipeline_commit();
            __pipeline_wait_prior(0);
            __syncthreads();
            float4 v = s[threadIdx.x ^ 1];
            return v.x + v.y + v.z + v.w;
        }
        """,
        copied="float32(uint64, int32)",
        pipelined="float32(uint64)",
    )

    @cuda.jit
    def kernel(pointer, out):
        i = cuda.threadIdx.x
        out[0, i] = copied(pointer, 64)
        out[1, i] = pipelined(pointer)

    data, out = cuda.to_device(np.arange(1, 65, dtype=np.float32)), np.zeros((2, 64), np.float32)
    kernel[1, 64](address(data), out)
    assert np.array_equal(out[0], np.roll(np.arange(1, 65), -1))
    i = np.arange(64) ^ 1
    first = 1 + 4 * (i // 4)
    assert np.array_equal(out[1], np.where(i % 2, 2 * first + 1, 4 * first + 6))


def test_half_precision():
    halves, pairs = declared(
        """
        #include <cuda_fp16.h>
        extern "C" __device__ float halves(float a, float b) {
            __half x = __float2half(a), y = __float2half(b), z = __hfma(x, y, __hadd(x, __hmul(x, y)));
            if (__hlt(x, y)) z = __hsub(z, y);
            return __half2float(__hmax(z / y, x)) + __half2int_rn(x);
        }
        extern "C" __device__ float pairs(float a, float b) {
            __half2 x = __floats2half2_rn(a, b), y = __float2half2_rn(b), z = __hfma2(x, y, __hadd2(x, y));
            return __low2float(z) + 2 * __high2float(z) + 1000 * __hbgt2(x, y) + 2000 * __hble2(x, y) + 4000 * __low2float(__hgt2(x, y)) + (__hgt2_mask(x, y) & 0xff00ff);
        }
        """,
        halves="float32(float32, float32)",
        pairs="float32(float32, float32)",
    )

    @cuda.jit
    def kernel(a, b, out):
        i = cuda.threadIdx.x
        out[0, i] = halves(a[i], b[i])
        out[1, i] = pairs(a[i], b[i])

    a, b, out = (
        np.arange(16, dtype=np.float32) / 4 - 2,
        np.full(16, 1.5, np.float32),
        np.zeros((2, 16), np.float32),
    )
    kernel[1, 16](a, b, out)
    x, y = a.astype(np.float16), b.astype(np.float16)
    z = x * y + (x + x * y)
    z = np.where(x < y, z - y, z)
    assert np.array_equal(out[0], np.maximum(z / y, x).astype(np.float32) + np.rint(x))
    low, high = (x * y + (x + y)).astype(np.float32), (y * y + (y + y)).astype(np.float32)
    greater = x > y  # of the upper halves none is: they are equal
    assert np.array_equal(out[1], low + 2 * high + 2000 * ~greater + 4000 * greater + 255 * greater)


def test_code_is_for_the_current_device():
    capability, sums = declared(
        """
        extern "C" __device__ int capability() { return __CUDA_ARCH__; }
        extern "C" __device__ int sums(int x) { return __reduce_add_sync(0xffffffff, x) + __reduce_max_sync(0xffffffff, x); }
        """,
        capability="int32()",
        sums="int32(int32)",
    )

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = capability()
        out[1, i] = sums(i)

    out = np.zeros((2, 32), np.int32)
    kernel[1, 32](out)
    major, minor = cuda.get_current_device().compute_capability
    assert np.all(out[0] == 100 * major + 10 * minor) and np.all(out[1] == 496 + 31)


def test_instructions_of_new_devices_that_are_not_known_are_written_out_by_nvcc():
    (rounded,) = declared(
        """
        #include <cuda_bf16.h>
        extern "C" __device__ float rounded(float x) { return __bfloat162float(__hadd(__float2bfloat16(x), __float2bfloat16(1.f))); }
        """,
        rounded="float32(float32)",
    )

    @cuda.jit
    def kernel(out):
        out[0] = rounded(out[0])

    out = np.array([0.3], np.float32)
    kernel[1, 1](out)
    assert out[0] == np.float32(1.296875)  # of 8 significant bits, twice


def test_lanes_reduce_in_one_instruction():
    body = "activemask.b32 %t1;\nredux.sync.{} %r, %a, %t1;"

    values = np.array([5, 3, 0xFFFFFFFE, 9] * 8, np.uint32)[:27]
    for operation, kind, reduce in [
        ("add.s32", "u32", lambda v: np.sum(v, dtype=np.uint32)), ("min.s32", "u32", lambda v: np.min(v.view(np.int32)).astype(np.uint32)),
        ("max.u32", "u32", np.max), ("min.u32", "u32", np.min), ("max.s32", "u32", lambda v: np.max(v.view(np.int32)).astype(np.uint32)),
        ("and.b32", "u32", np.bitwise_and.reduce), ("or.b32", "u32", np.bitwise_or.reduce), ("xor.b32", "u32", np.bitwise_xor.reduce),
    ]:  # fmt: skip
        results = call(function(body.format(operation), kind, kind), kind, [kind], [values])
        assert np.all(results == reduce(values)), operation


def test_atomic_operations():
    (run,) = declared(
        """
        extern "C" __device__ int run(unsigned long long words, unsigned long long longs, unsigned long long reals, unsigned long long shorts) {
            int* i = (int*)words; unsigned* u = (unsigned*)words;
            atomicAdd(i, 1); atomicSub(i + 1, 2); atomicMin(i + 2, -(int)threadIdx.x); atomicMax(i + 3, (int)threadIdx.x);
            atomicOr(i + 4, 1 << threadIdx.x % 32); atomicAnd(i + 5, ~(1 << threadIdx.x % 32)); atomicXor(i + 6, 3 + threadIdx.x);
            atomicInc(u + 7, 9); atomicDec(u + 8, 9); atomicAdd_block(i + 9, 3); atomicAdd_system(i + 10, 4);
            unsigned long long* l = (unsigned long long*)longs;
            atomicAdd(l, 1ull << 33); atomicMax(l + 1, 1ull << threadIdx.x % 64);
            double* d = (double*)reals; atomicAdd(d, 0.5); atomicAdd((float*)(d + 1), 0.25f);
            unsigned short* s = (unsigned short*)shorts;
            unsigned short seen = s[1], old;
            do { old = seen; seen = atomicCAS(s + 1, old, (unsigned short)(old + 2)); } while (seen != old);
            __threadfence();
            return atomicExch(i + 11, threadIdx.x);
        }
        """,
        run="int32(uint64, uint64, uint64, uint64)",
    )

    @cuda.jit
    def kernel(words, longs, reals, shorts, out):
        out[cuda.threadIdx.x] = run(words, longs, reals, shorts)

    words, longs = (
        cuda.to_device(np.array([0] * 5 + [-1] + [0] * 5 + [-1], np.int32)),
        cuda.to_device(np.zeros(2, np.uint64)),
    )
    reals, shorts, out = (
        cuda.to_device(np.zeros(2)),
        cuda.to_device(np.array([7, 65535, 9, 11], np.uint16)),
        np.zeros(64, np.int32),
    )
    kernel[1, 64](address(words), address(longs), address(reals), address(shorts), out)
    xor = np.bitwise_xor.reduce(np.arange(3, 67))
    last = words.copy_to_host()[11]
    assert words.copy_to_host().tolist() == [64, -128, -63, 63, -1, 0, xor, 64 % 10, 6, 192, 256, last]
    assert sorted([*out.tolist(), last]) == list(range(-1, 64))
    assert longs.copy_to_host().tolist() == [64 << 33, 1 << 63]
    assert reals.copy_to_host()[0] == 32 and reals.copy_to_host()[1:].view(np.float32)[0] == 16
    assert shorts.copy_to_host().tolist() == [7, 127, 9, 11]


def test_cached_and_wide_memory_access():
    cached, wide = declared(
        """
        extern "C" __device__ float cached(unsigned long long p, int i) { const float* f = (const float*)p; return __ldg(f + i) + __ldcs(f + i) + __ldca(f + i); }
        extern "C" __device__ float wide(unsigned long long p, int i) {
            float4* q = (float4*)p; float4 v = __ldg(q + i); v.x += 1; v.w = 2; __stcs(q + i, v); return v.y;
        }
        """,
        cached="float32(uint64, int32)",
        wide="float32(uint64, int32)",
    )

    @cuda.jit
    def kernel(p, out):
        i = cuda.threadIdx.x
        out[i] = cached(p, i)
        cuda.syncthreads()
        if i < 4:
            out[i] += wide(p, i)

    data, out = cuda.to_device(np.arange(16, dtype=np.float32)), np.zeros(16, np.float32)
    kernel[1, 16](address(data), out)
    expected = 3 * np.arange(16.0)
    expected[:4] += [1, 5, 9, 13]
    assert np.array_equal(out, expected)
    assert data.copy_to_host().reshape(4, 4).tolist() == [
        [4 * i + 1, 4 * i + 1, 4 * i + 2, 2] for i in range(4)
    ]
