"""Records of programs in CUDA C++: what `cudasim replay` makes of them in another process, and what a GPU is given."""

import subprocess
import sys

import pytest
from cuda_programs import environment, needs_clang

pytestmark = needs_clang

FIRST = """
#include <cstdio>
#include <cstring>
__managed__ int total;
__device__ int* list[4];
__constant__ float factor = 3;
void run_second(int* out, int n);
__global__ void first(float* x, int n) {
    int lane;
    asm volatile("{\\n\\t.reg .u32 the_users_own;\\n\\tmov.u32 the_users_own, %%laneid;\\n\\tadd.u32 %0, the_users_own, 0;\\n\\t}" : "=r"(lane));
    if (threadIdx.x < n) x[threadIdx.x] = factor * lane;
    atomicAdd(&total, 1);
}
__global__ void make() {
    list[threadIdx.x] = (int*)malloc(16);
    list[threadIdx.x][0] = threadIdx.x;
}
__global__ void use(int* out) {
    out[threadIdx.x] = list[threadIdx.x][0] + 10;
    free(list[threadIdx.x]);
    list[threadIdx.x] = nullptr;
}
__global__ void wrong(int* p, int n) {
    printf("in wrong %d\\n", n);
    p[n] = 1;
}
int main() {
    float* x;
    int* out;
    cudaMallocManaged(&x, 128);
    cudaMalloc(&out, 128);
    first<<<1, 32>>>(x, 32);
    run_second(out, 5);
    make<<<1, 4>>>();
    use<<<1, 4>>>(out);
    cudaDeviceSynchronize();
    printf("%g %d\\n", x[3], total);
    wrong<<<1, 1>>>(out, 4000);
    printf("%s\\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""

SECOND = """
__global__ void second(int* out, int n) { out[threadIdx.x] = n * threadIdx.x; }
void run_second(int* out, int n) { second<<<1, 8>>>(out, n); }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded")
    (path / "cache").mkdir(mode=0o700)
    (path / "first.cu").write_text(FIRST)
    (path / "second.cu").write_text(SECOND)
    return path


def cudasim(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "cudasim", *arguments], cwd=folder, env=environment(CUDASIM_CACHE_DIR=str(folder / "cache")),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize(
    "options", [(), ("-G",), ("-rdc=true", "-O2")], ids=["plain", "debug", "relocatable"]
)
def test_every_launch_replays_also_behind_one_that_fails_and_with_memory_of_kernels(folder, options):
    result = cudasim(folder, "record", "-o", "run.cudasim", "first.cu", "second.cu", *options)
    assert result.stdout == "9 32\nin wrong 4000\ncudaErrorIllegalAddress\n", result.stderr
    assert "5 of 5 launches are in run.cudasim" in result.stderr
    result = cudasim(folder, "replay", "run.cudasim")
    assert result.stdout.count("reproduced to the bit") == 5, result.stdout + result.stderr
    assert result.returncode == 0 and "out-of-bounds-global" not in result.stdout


def test_a_gpu_is_given_the_inline_ptx_of_the_program(folder):
    result = cudasim(folder, "record", "--gpu", "-o", "gpu.cudasim", "first.cu", "second.cu")
    assert "5 of 5 launches" in result.stderr, result.stderr
    script = (
        "from cudasim import _native; from cudasim.recording.replay import Reader\n"
        "print(_native.gpu_code(Reader('gpu.cudasim').read(0, True))['ptx'])"
    )
    ptx = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment(), capture_output=True, text=True
    ).stdout
    assert "mov.u32 the_users_own, %laneid;" in ptx and ".visible .entry _Z5firstPfi" in ptx
    assert cudasim(folder, "replay", "--launch", "1", "gpu.cudasim").returncode == 0


MANAGED = """
#include <cstdio>
__managed__ int a;
__managed__ int b = 3;
__managed__ int x[5];  // demangled, "x" would be long long
__global__ void add() {
    atomicAdd(&a, 1);
    atomicAdd(&b, 1);
    x[threadIdx.x % 5] = 1;
}
int main() {
    add<<<1, 32>>>();
    cudaDeviceSynchronize();
    printf("%d %d %d\\n", a, b, x[4]);
}
"""


def test_managed_variables_that_share_a_page_are_restored_at_their_places(folder):
    (folder / "managed.cu").write_text(MANAGED)
    result = cudasim(folder, "record", "-o", "managed.cudasim", "managed.cu")
    assert result.stdout == "32 35 1\n", result.stderr
    result = cudasim(folder, "replay", "managed.cudasim")
    assert result.stdout.count("reproduced to the bit") == 1 and result.returncode == 0, (
        result.stdout + result.stderr
    )
    result = cudasim(folder, "check", "managed.cu")
    assert "2 schedules: 1 finding (0 errors, 0 warnings, 1 note)" in result.stdout + result.stderr, (
        result.stderr
    )
    assert result.returncode == 0 and "global memory 'x'" in result.stdout + result.stderr
