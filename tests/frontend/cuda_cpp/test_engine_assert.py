"""assert(), __trap() and their like in kernels."""

from __future__ import annotations

import pytest
from cuda_programs import compiled, needs_clang, output_of, run

pytestmark = needs_clang

PROGRAM = r"""
#include <cassert>
#include <cstdio>
#include <cstdlib>

__device__ void check(int value, int limit) {
    assert(value < limit && "too large");  // fails
}
__global__ void asserts(int limit) { check(threadIdx.x, limit); }
__global__ void traps() {
    if (threadIdx.x == 3 && blockIdx.x == 1) __trap();  // traps
}
__global__ void builtin_traps() {
    if (threadIdx.x == 3 && blockIdx.x == 1) __builtin_trap();  // the compiler's trap
}
__global__ void nothing() {}

int main(int, char** arguments) {
    const int which = std::atoi(arguments[1]);
    if (which == 0) asserts<<<dim3(1, 2), 64>>>(40);
    if (which == 3) asserts<<<2, 64>>>(64);
    if (which == 1) traps<<<2, 32>>>();
    if (which == 2) builtin_traps<<<2, 32>>>();
    std::printf("%d ", (int)cudaDeviceSynchronize());
    nothing<<<1, 1>>>();
    std::printf("%d\n", (int)cudaDeviceSynchronize());
}
"""


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAM, tmp_path_factory.mktemp("assert"), name="asserts")


def test_a_failed_assertion_has_cudas_text_and_its_error_lasts(program):
    result = run(program, "0")
    assert result.stdout == "710 710\n"
    assert (
        f"asserts.cu:{line_of('// fails')}: void check(int, int): block: [0,0,0], thread: [40,0,0] "
        'Assertion `value < limit && "too large"` failed.' in result.stderr
    )
    assert "device-assert" in result.stderr
    assert result.returncode == 1


def test_an_assertion_that_holds_says_nothing(program):
    result = run(program, "3")
    assert (result.stdout, result.stderr, result.returncode) == ("0 0\n", "", 0)


@pytest.mark.parametrize(("which", "place"), [("1", "// traps"), ("2", "the compiler's trap")])
def test_a_trap_is_a_launch_failure(program, which, place):
    result = run(program, which)
    assert result.stdout == "719 719\n"
    assert f"asserts.cu:{line_of(place)}" in result.stderr
    assert "tid=[3, 0, 0] ctaid=[1, 0, 0]" in result.stderr


def test_a_pause_is_harmless(tmp_path):
    source = r"""
#include <cstdio>
__global__ void pauses(int* out) {
    __nanosleep(20);
    *out = 7;
}
int main() {
    int *out, host = 0;
    cudaMalloc(&out, sizeof host);
    pauses<<<1, 1>>>(out);
    cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d\n", host);
}
"""
    assert output_of(source, tmp_path) == "7\n"
