"""Variables of CUDA C++ kernels where their values are kept for reports, and in the debugger."""

import re
import subprocess
import sys

from cuda_programs import environment, needs_clang, output_of

pytestmark = needs_clang

MEMBERS = """
#include <cstdio>
struct Pair { float x, y; };
__global__ void members(const float* a, const float* b, float* out) {
    Pair pair;
    pair.x = a[threadIdx.x];
    pair.y = b[threadIdx.x];
    float four[4];
    four[0] = a[threadIdx.x];
    if (threadIdx.x > 3) four[1] = b[0]; else four[1] = a[0];
    four[2] = four[0] + pair.y;
    out[threadIdx.x] = pair.x + pair.y + four[1] + four[2];
}
int main() {
    float *a, *b, *out;
    cudaMallocManaged(&a, 32 * sizeof(float));
    cudaMallocManaged(&b, 32 * sizeof(float));
    cudaMallocManaged(&out, 32 * sizeof(float));
    for (int i = 0; i < 32; i++) a[i] = i, b[i] = 100 * i + 7;
    members<<<1, 32>>>(a, b, out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++)
        if (out[i] != 2 * a[i] + 2 * b[i] + (i > 3 ? b[0] : a[0])) return printf("%d: %g\\n", i, out[i]), 1;
    puts("right");
}
"""

BRANCH = """__global__ void invert(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] = 1 / x[i];
}
int main() {
    float* x;
    cudaMalloc(&x, 32 * sizeof(float));
    cudaMemset(x, 0, 32 * sizeof(float));
    invert<<<1, 32>>>(x, 32);
    return cudaDeviceSynchronize();
}
"""


def test_structs_and_arrays_are_set_member_by_member(tmp_path):
    assert output_of(MEMBERS, tmp_path) == "right\n"


def test_the_debugger_knows_variables_behind_the_first_branch(tmp_path):
    (tmp_path / "invert.cu").write_text(BRANCH)
    commands = (
        "break 4 thread 5",
        "run",
        "print i",
        "print n",
        "info args",
        "print x",
        "print *x",
        "print x[i]",
    )
    result = subprocess.run(
        [sys.executable, "-m", "cudasim", "debug", "-batch", *(part for each in commands for part in ("-ex", each)), "invert.cu"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "invert block(0,0,0) thread(5,0,0) at invert.cu:4" in result.stdout, result.stdout + result.stderr
    assert "$1 = 5" in result.stdout and "$2 = 32" in result.stdout and "n = 32" in result.stdout
    address = re.search(r"^x = (\(float \*\) 0x[0-9a-f]+)$", result.stdout, re.MULTILINE)
    assert address is not None, result.stdout
    assert f"$3 = {address[1]}\n" in result.stdout
    assert re.search(r"^\$4 = (inf|0)", result.stdout, re.MULTILINE) and "$5 = 0.0\n" in result.stdout
