"""Pointers to functions in memory, virtual functions, and structures that are passed by value to functions which are
called, not inlined; on the simulator and, as PTX, on the stand-in for NVIDIA's driver."""

import subprocess
import sys

import pytest
from cuda_programs import compiled, environment, needs_clang, run
from stand_in_driver import STAND_IN

pytestmark = needs_clang

PROGRAM = """
#include <cstdio>
#include <new>
struct Pair { long a, b; };
typedef void (*Function)(long*, Pair);
__device__ __noinline__ void sum(long* r, Pair p) {
    *r += p.a + p.b;
    p.a = 0;
    *r += p.a;
}
__device__ __noinline__ void product(long* r, Pair p) {
    *r += p.a * p.b;
    p.b = 0;
    *r += p.b;
}
__device__ Function functions[2] = {sum, product};
struct Shape {
    __device__ virtual long area(Pair p) = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    long s;
    __device__ Square(long s) : s(s) {}
    __device__ long area(Pair p) override { p.a++; return s * s + p.a; }
};
struct Rectangle : Shape {
    long s, t;
    __device__ Rectangle(long s, long t) : s(s), t(t) {}
    __device__ long area(Pair p) override { p.b++; return s * t + p.b; }
};
__device__ __noinline__ long recursive(Pair p, int n) {
    if (n == 0) return p.a;
    p.a += p.b;
    return recursive(p, n - 1) + 1;
}
__global__ void make(Shape** shapes, char* storage) {
    const int i = threadIdx.x;
    if (i % 2) shapes[i] = new (storage + 32 * i) Square(i);
    else shapes[i] = new (storage + 32 * i) Rectangle(i, 3);
}
__global__ void use(Shape** shapes, long* out, Function* kept) {
    const int i = threadIdx.x;
    Pair p{i, 2 * i};
    out[i] = 0;
    functions[i % 2](out + i, p);
    out[i] += shapes[i]->area(p) + recursive(p, 3) + 1000 * p.a;
    kept[i] = functions[(i + 1) % 2];
}
__global__ void again(Function* kept, long* out) {
    const int i = threadIdx.x;
    kept[i](out + i, Pair{3, 4});
    if (kept[i] == sum) out[i] += 100000;
}
int main() {
    Shape** shapes;
    char* storage;
    long *out, found[32];
    Function* kept;
    cudaMalloc(&shapes, 32 * sizeof *shapes);
    cudaMalloc(&storage, 32 * 32);
    cudaMalloc(&out, sizeof found);
    cudaMalloc(&kept, 32 * sizeof *kept);
    make<<<1, 32>>>(shapes, storage);
    use<<<1, 32>>>(shapes, out, kept);
    again<<<1, 32>>>(kept, out);
    const auto error = cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (long i = 0; i < 32; ++i) {
        long expected = i % 2 ? i * 2 * i + i * i + i + 1 : 3 * i + i * 3 + 2 * i + 1;
        expected += i + 3 * 2 * i + 3 + 1000 * i + (i % 2 ? 3 + 4 + 100000 : 12);
        wrong += found[i] != expected;
    }
    printf("%s, %d wrong\\n", cudaGetErrorName(error), wrong);
}
"""


@pytest.mark.parametrize("options", [(), ("-G",)], ids=["optimised", "debug"])
def test_structures_are_passed_by_value_through_pointers_and_in_recursion(tmp_path, options):
    done = run(compiled(PROGRAM, tmp_path, *options))
    assert (done.stdout, done.stderr) == ("cudaSuccess, 0 wrong\n", "")


@pytest.mark.skipif(not STAND_IN.exists(), reason="the stand-in for NVIDIA's driver was not built")
def test_a_gpu_leaves_the_same_pointers_to_functions_in_memory(tmp_path):
    (tmp_path / "program.cu").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "cudasim", "compare", "program.cu"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env=environment(CUDASIM_CACHE_DIR=str(tmp_path / "cache"), CUDASIM_LIBCUDA=str(STAND_IN)),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 launches: 3 same" in done.stdout + done.stderr
