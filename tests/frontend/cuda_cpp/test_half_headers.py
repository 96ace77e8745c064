"""cuda_fp16.h: every number through every function, on host and device, compared with exact arithmetic."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
from cuda_programs import NVCC, TOOLKIT, compiled, needs_clang, nvcc, output_of, run
from exact_rounding import HALF
from short_float_checks import check_all, read_results

pytestmark = [needs_clang, pytest.mark.skipif(not NVCC.exists(), reason="no toolkit in the build tree")]
PROGRAMS = pathlib.Path(__file__).parent / "programs"


def test_all_numbers(tmp_path):
    source = (PROGRAMS / "short_floats.cu").read_text()
    result = run(compiled(source, tmp_path), "results")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    check_all(read_results(tmp_path / "results"), HALF)


DEVICE_ONLY = r"""
#include <cuda_fp16.h>
#include <cstdio>

__global__ void sums(half* one, half2* two) {
    const half before = atomicAdd(one, half(0.5f));
    atomicAdd(two, __floats2half2_rn(1, -2));
    if (float(before) < 0 || float(before) > 32) printf("before: %f\n", float(before));
}
__global__ void lanes() {
    const int lane = threadIdx.x;
    const half x = half(lane);
    const half2 y = half2(x, half(-lane));
    bool good = float(__shfl_sync(~0u, x, 3)) == 3 && float(__shfl_xor_sync(~0u, x, 5)) == (lane ^ 5) &&
                float(__shfl_up_sync(~0u, x, 2)) == (lane < 2 ? lane : lane - 2) &&
                float(__shfl_down_sync(~0u, x, 2, 8)) == (lane % 8 < 6 ? lane + 2 : lane) &&
                __hbeq2(__shfl_sync(~0u, y, 7), __floats2half2_rn(7, -7)) &&
                __high2float(__shfl_xor_sync(~0u, y, 1)) == -(lane ^ 1) &&
                __low2float(__shfl_up_sync(~0u, y, 1)) == (lane ? lane - 1 : 0) &&
                __low2float(__shfl_down_sync(~0u, y, 1)) == (lane < 31 ? lane + 1 : 31);
    if (!good) printf("lane %d\n", lane);
}
__global__ void memory(const half* in, half* out, half2* pairs) {
    __shared__ half2 kept[32];
    half parts[4] = {};
    const int i = threadIdx.x;
    kept[i] = __halves2half2(__ldg(in + i), __ldcg(in + i));
    __syncthreads();
    __stcg(out + i, __hadd(kept[31 - i].x, __ldcs(in)));
    __stwt(pairs + i, __ldca(&kept[i]) + half2(__ldcv(in + i), __ldlu(in + i)));
    parts[i % 4] = out[i];
    __stcs(out + i, parts[i % 4] * half(2));
    __stwb(pairs + i, pairs[i]);
}
struct Layout {
    char first;
    half second;
    half2 third;
};
static_assert(sizeof(half) == 2 && alignof(half) == 2 && sizeof(half2) == 4 && alignof(half2) == 4, "");
static_assert(sizeof(Layout) == 8, "");
int main() {
    half *one, h;
    half2 *two, p;
    cudaMalloc(&one, sizeof(half));
    cudaMalloc(&two, sizeof(half2));
    h = 0.0f;
    p = half2(h, h);
    cudaMemcpy(one, &h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemcpy(two, &p, sizeof p, cudaMemcpyHostToDevice);
    sums<<<2, 32>>>(one, two);
    lanes<<<1, 32>>>();
    cudaMemcpy(&h, one, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpy(&p, two, sizeof p, cudaMemcpyDeviceToHost);
    printf("%g %g %g\n", float(h), __low2float(p), __high2float(p));

    half numbers[32], *in, *out;
    half2 *pairs, sum[32];
    for (int i = 0; i < 32; ++i) numbers[i] = i + 1;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof numbers);
    cudaMalloc(&pairs, sizeof sum);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    memory<<<1, 32>>>(in, out, pairs);
    cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost);
    cudaMemcpy(sum, pairs, sizeof sum, cudaMemcpyDeviceToHost);
    printf("%g %g %g %g\n", float(numbers[0]), float(numbers[31]), float(sum[4].x), float(sum[4].y));
    printf("%g %g %g\n", float(CUDART_INF_FP16), float(CUDART_MAX_NORMAL_FP16), float(CUDART_ONE_FP16));
}
"""


def test_shuffles_atomics_and_memory(tmp_path):
    output = output_of(DEVICE_ONLY, tmp_path, "-std=c++14")
    assert output == "32 64 -128\n66 4 10 10\ninf 65504 1\n"


ON_HOST = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdio>
#include <vector>
#if !defined(__CUDA_FP16_TYPES_EXIST__) || !defined(__CUDA_FP16_H__) || !defined(__CUDA_BF16_TYPES_EXIST__)
#error "macros that programs test"
#endif
#if defined(__CUDACC__)
__global__ void on_device(half2* x) { *x = *x * *x + *x; }
#endif
int main() {
    std::vector<__half> values(4, __float2half(0.1f));
    half2 pair = make_half2(values[0], __int2half_rn(3));
    pair = (pair * pair + pair) / pair;
    __half_raw raw = values[0];
    values[1] = raw;
    if (values[1]) values[2] = values[1] * half(3.0) - values[0];
    nv_bfloat16 brain = 1.0f;
    brain /= nv_bfloat16(3);
    volatile __half kept;
    volatile __half& same = kept = raw;
    std::printf("%x %g %g %g %g\n", raw.x, __low2float(pair), __high2float(pair), float(values[2]), float(brain));
    std::printf("%g %g\n", float(half(brain)), float(nv_bfloat16(values[0])));
    return __half_raw(same).x - raw.x;
}
"""
EXPECTED_ON_HOST = "2e66 1.10059 4 0.199829 0.333984\n0.333984 0.100098\n"


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_host_compiler_alone(tmp_path, standard):
    """Without CUDA: gcc in both its languages."""
    (tmp_path / "host.cpp").write_text(ON_HOST)
    options = ["-Wall", "-Wextra", "-Werror", "-isystem", TOOLKIT / "include"]
    subprocess.run(["g++", f"-std={standard}", *options, "host.cpp", "-o", "host"], cwd=tmp_path, check=True)
    result = run(tmp_path / "host")
    assert (result.returncode, result.stdout) == (0, EXPECTED_ON_HOST)
    (tmp_path / "raw.c").write_text(
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nint size(__half2_raw x) { return sizeof x; }\n"
    )
    subprocess.run(["gcc", *options, "-c", "raw.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20"])
def test_every_standard_in_cuda(tmp_path, standard):
    assert output_of(ON_HOST, tmp_path, f"-std={standard}") == EXPECTED_ON_HOST


def test_programs_turn_parts_off(tmp_path):
    """What a program defines its own operators with: no ambiguity, and without it an error."""
    own = """
#include <cuda_fp16.h>
__host__ __device__ half operator+(const half& a, const half& b) { return __hsub(a, b); }
__global__ void k(half* p) { *p = *p + *p; }
"""
    (tmp_path / "own.cu").write_text(own)
    assert nvcc("-c", "own.cu", "-D__CUDA_NO_HALF_OPERATORS__", cwd=tmp_path).returncode == 0
    assert "redefinition" in nvcc("-c", "own.cu", cwd=tmp_path).stderr
    (tmp_path / "converted.cu").write_text("#include <cuda_fp16.h>\n__half h = 1.0f;\n")
    refused = nvcc("-c", "converted.cu", "-D__CUDA_NO_HALF_CONVERSIONS__", cwd=tmp_path)
    assert "no viable conversion" in refused.stderr
    (tmp_path / "pair.cu").write_text("#include <cuda_fp16.h>\nhalf2 twice(half2 x) { return x + x; }\n")
    refused = nvcc("-c", "pair.cu", "-D__CUDA_NO_HALF2_OPERATORS__", cwd=tmp_path)
    assert "invalid operands" in refused.stderr
