"""mma.h: every shape, type and layout, and what a wrong use of it gives."""

from __future__ import annotations

import pathlib

import pytest
from cuda_programs import NVCC, compiled, needs_clang, nvcc, output_of, run

pytestmark = [needs_clang, pytest.mark.skipif(not NVCC.exists(), reason="no toolkit in the build tree")]
PROGRAMS = pathlib.Path(__file__).parent / "programs"


def test_every_matrix_operation(tmp_path):
    source = (PROGRAMS / "matrix_operations.cu").read_text()
    output = output_of(source, tmp_path, "-std=c++17")
    assert output == "u4 0\ns4 0\nb1 0\n32 combinations\ninf 8 1 2147483647 -2147225585 1608\n"


# Eight warps, with shared memory, a scaled result and C++11, as programs have it.
TILED = r"""
#include <mma.h>
#include <cstdio>
using namespace nvcuda::wmma;
const int N = 128;
__global__ void product(const half* a, const half* b, const float* c, float* d, float alpha, float beta) {
    __shared__ half tile[8][16 * 16];
    const int warp = threadIdx.x / 32, row = blockIdx.x * 16, column = warp * 16;
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> sum, old;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < N; k += 16) {
        for (int i = threadIdx.x % 32; i < 256; i += 32)
            tile[warp][i] = b[(k + i % 16) + (column + i / 16) * N];
        __syncwarp();
        load_matrix_sync(fa, a + row * N + k, N);
        load_matrix_sync(fb, tile[warp], 16);
        mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    load_matrix_sync(old, c + row * N + column, N, mem_row_major);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = alpha * sum.x[i] + beta * old.x[i];
    store_matrix_sync(d + row * N + column, sum, N, mem_row_major);
}
static half a[N * N], b[N * N];
static float c[N * N], d[N * N];
int main(int count, char**) {
    for (int i = 0; i < N * N; ++i) {
        a[i] = half(i % 7 * 0.5f);
        b[i] = half(i % 5 * 0.25f - 0.5f);
        c[i] = i % 3;
    }
    half *da, *db;
    float *dc, *dd;
    cudaMalloc(&da, sizeof a);
    cudaMalloc(&db, sizeof b);
    cudaMalloc(&dc, sizeof c);
    cudaMalloc(&dd, count > 1 ? sizeof d - 16 : sizeof d);
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    cudaMemcpy(dc, c, sizeof c, cudaMemcpyHostToDevice);
    product<<<N / 16, 256>>>(da, db, dc, dd, 2, -1);
    if (cudaMemcpy(d, dd, sizeof d - 16, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    int wrong = 0;
    for (int i = 0; i < N * N - 4; ++i) {
        float sum = 0;
        for (int k = 0; k < N; ++k) sum += float(a[i / N * N + k]) * float(b[i % N * N + k]);
        wrong += d[i] != 2 * sum - c[i];
    }
    printf("%d wrong\n", wrong);
}
"""


def test_tiles_and_an_access_outside(tmp_path):
    program = compiled(TILED, tmp_path, "-std=c++11")
    good = run(program)
    assert (good.returncode, good.stdout, good.stderr) == (0, "0 wrong\n", "")
    bad = run(program, "outside")
    assert bad.returncode != 0
    assert "out-of-bounds-global" in bad.stderr
    line = next(n for n, text in enumerate(TILED.splitlines(), 1) if "store_matrix_sync(" in text)
    assert f"program.cu:{line}" in bad.stderr


def test_shapes_that_there_are_not(tmp_path):
    text = """
#include <mma.h>
using namespace nvcuda;
__global__ void k() { wmma::fragment<wmma::%s> f; wmma::fill_fragment(f, 0); }
"""
    for wrong in (
        "accumulator, 16, 16, 8, int",
        "matrix_a, 16, 16, 32, half, wmma::row_major",
        "matrix_b, 16, 16, 16, half",
    ):
        (tmp_path / "wrong.cu").write_text(text % wrong)
        result = nvcc("-c", "wrong.cu", cwd=tmp_path)
        assert result.returncode != 0
        assert "undefined template" in result.stderr and "wrong.cu:4" in result.stderr
