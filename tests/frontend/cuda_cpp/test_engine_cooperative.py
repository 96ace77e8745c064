"""The launch decides what is cooperative: naming the group of the grid does not."""

from __future__ import annotations

import pytest
from cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
// What grid groups call (CUDA's device runtime).
extern "C" __device__ unsigned long long cudaCGGetIntrinsicHandle(int scope);
extern "C" __device__ int cudaCGSynchronize(unsigned long long handle, unsigned flags);

__global__ void ranks(int* out) {
    const unsigned long long grid = cudaCGGetIntrinsicHandle(1);
    if (threadIdx.x == 0) atomicAdd(out, grid == 0 ? 1 : 1000000);
}
__global__ void meet(int* out) {
    const unsigned long long grid = cudaCGGetIntrinsicHandle(1);
    if (threadIdx.x == 0) atomicAdd(out, 1);
    cudaCGSynchronize(grid, 0);  // the grid's barrier
    if (threadIdx.x == 0 && blockIdx.x == 0) out[1] = out[0];
}

int main(int, char** arguments) {
    const int which = std::atoi(arguments[1]);
    int *out, host[2] = {0, 0};
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(out, host, sizeof host, cudaMemcpyHostToDevice);
    if (which == 0) ranks<<<5000, 1024>>>(out);
    if (which == 1) meet<<<3, 32>>>(out);
    void* parameters[] = {&out};
    if (which == 2) cudaLaunchCooperativeKernel((const void*)meet, dim3(60), dim3(64), parameters, 0, 0);
    if (which == 3) cudaLaunchCooperativeKernel((const void*)meet, dim3(5000), dim3(1024), parameters, 0, 0);
    std::printf("%d ", (int)cudaGetLastError());
    std::printf("%d ", (int)cudaDeviceSynchronize());
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d %d\n", host[0], host[1]);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAM, tmp_path_factory.mktemp("cooperative"), name="grids")


def test_an_ordinary_launch_of_any_size_may_name_its_grid(program):
    result = run(program, "0")
    assert (result.stdout, result.stderr) == ("0 0 5000 0\n", "")


def test_a_grid_barrier_in_an_ordinary_launch_is_found(program):
    result = run(program, "1")
    line = next(i for i, text in enumerate(PROGRAM.splitlines(), 1) if "the grid's barrier" in text)
    assert "not-cooperative" in result.stderr
    assert "cudaLaunchCooperativeKernel" in result.stderr
    assert f"grids.cu:{line}" in result.stderr
    assert " 719 " in result.stdout
    assert result.returncode == 1


def test_blocks_of_a_cooperative_launch_meet(program):
    result = run(program, "2")
    assert (result.stdout, result.stderr) == ("0 0 60 60\n", "")


def test_a_cooperative_launch_has_to_fit_on_the_device(program):
    assert run(program, "3").stdout == "720 0 0 0\n"
