"""`cudasim compare` of programs whose results cannot be the same twice: what it says of them."""

import json
import subprocess
import sys

import pytest
from cuda_programs import environment, needs_clang
from stand_in_driver import STAND_IN

pytestmark = needs_clang

CLOCKS = """
#include <cstdio>
__global__ void measure(long long* ticks, float* x) {
    const long long began = clock64();  // first
    x[threadIdx.x] *= 2;
    ticks[threadIdx.x] = clock64() - began;  // second
}
int main() {
    long long* ticks;
    float* x;
    cudaMalloc(&ticks, 64 * sizeof *ticks);
    cudaMalloc(&x, 64 * sizeof *x);
    cudaMemset(x, 0, 64 * sizeof *x);
    measure<<<1, 64>>>(ticks, x);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
"""

ALLOCATIONS = """
#include <cstdio>
__global__ void allocate(int** nodes) {
    int* node = static_cast<int*>(malloc(16));  // allocates
    *node = threadIdx.x;
    nodes[threadIdx.x] = node;
}
int main() {
    int** nodes;
    cudaMalloc(&nodes, 64 * sizeof *nodes);
    allocate<<<1, 64>>>(nodes);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
"""


def line(program: str, mark: str) -> int:
    return next(number for number, text in enumerate(program.splitlines(), 1) if text.endswith(f"// {mark}"))


@pytest.mark.skipif(not STAND_IN.exists(), reason="the stand-in for NVIDIA's driver was not built")
@pytest.mark.parametrize(
    ("program", "cause", "said", "marks"),
    [
        (CLOCKS, "clock", "The kernel reads a clock", ("first", "second")),
        (ALLOCATIONS, "addresses", "The kernel allocates memory itself", ("allocates",)),
    ],
)
def test_clocks_and_addresses_are_told_as_such(tmp_path, program, cause, said, marks):
    (tmp_path / "program.cu").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "cudasim", "compare", "--json", "report.json", "program.cu"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env=environment(CUDASIM_CACHE_DIR=str(tmp_path / "cache"), CUDASIM_LIBCUDA=str(STAND_IN)),
    )  # fmt: skip
    output = done.stdout + done.stderr
    assert done.returncode == 1, output
    explanations = json.loads((tmp_path / "report.json").read_text())["launches"][0]["explanations"]
    assert explanations[0]["cause"] == cause and explanations[0]["moves"] > 0, explanations
    assert said in output and "order of threads, and no data race" not in output, output
    assert all(f"program.cu:{line(program, mark)}" in output for mark in marks), output
