"""Asynchronous copies and barriers in shared memory.

programs/pipelines.cu compares what they leave with what the host computes.
"""

import pathlib

import pytest
from cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = (pathlib.Path(__file__).parent / "programs" / "pipelines.cu").read_text()

# A thread reads what its neighbour's copy brings, and waits for its own copies only, or for none.
UNFINISHED = """
#include <cuda_pipeline.h>
__global__ void shift(const int* in, int* out, int waits) {
    __shared__ int staged[64];
    __pipeline_memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    if (waits > 0) __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = staged[(threadIdx.x + 1) % 64];
}
int main(int count, char**) {
    int *in, *out;
    cudaMalloc(&in, 64 * sizeof(int));
    cudaMalloc(&out, 64 * sizeof(int));
    shift<<<1, 64>>>(in, out, count == 1);
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80"])
def test_copies_and_barriers(tmp_path, architecture):
    program = compiled(PROGRAM, tmp_path, "-std=c++17", f"-arch={architecture}")
    for checks in ("default", "all"):
        result = run(program, CUDASIM_CHECK=checks)
        assert (result.returncode, result.stdout, result.stderr) == (0, "all right\n", "")


def test_a_copy_that_nobody_waits_for_is_a_race(tmp_path):
    program = compiled(UNFINISHED, tmp_path, "-arch=sm_80")
    clean = run(program, CUDASIM_CHECK="races")
    assert (clean.returncode, clean.stderr) == (0, "")
    assert "data-race" in run(program, "without", CUDASIM_CHECK="races").stderr
