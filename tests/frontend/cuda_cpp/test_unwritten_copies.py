"""Copies to the host of device memory that nobody wrote: the check `init`."""

import subprocess
import sys

import pytest
from cuda_programs import compiled, environment, needs_clang, run

pytestmark = needs_clang

PROGRAM = """
#include <cstring>
struct Mixed { char letter; double number; short last; };
__device__ int variable[4], zeros[4] = {1};
__global__ void fill(int* out, int n) { if (threadIdx.x < n) out[threadIdx.x] = 1; }
__global__ void fill_rows(char* out, size_t pitch) { out[blockIdx.x * pitch + threadIdx.x] = 1; }
__global__ void fill_structures(Mixed* out) {
    out[threadIdx.x].letter = 'a', out[threadIdx.x].number = 1, out[threadIdx.x].last = 2;
}
int main(int, char** arguments) {
    const char* which = arguments[1];
    int *device, host[64], *locked;
    char* rows;
    size_t pitch;
    Mixed *structures, result[8];
    cudaMallocHost(&locked, sizeof host);
    cudaMalloc(&device, sizeof host);
    cudaMalloc(&structures, sizeof result);
    cudaMallocPitch(&rows, &pitch, 100, 4);
    fill<<<1, 64>>>(device, 40);
    fill_rows<<<4, 100>>>(rows, pitch);
    fill_structures<<<1, 8>>>(structures);
    if (!strcmp(which, "written")) {
        cudaMemcpy(host, device, 160, cudaMemcpyDeviceToHost);
        cudaMemcpyFromSymbol(host, variable, sizeof variable);
        cudaMemcpyFromSymbol(host, zeros, sizeof zeros);
        cudaMemcpy2D(result, 40, rows, pitch, 40, 4, cudaMemcpyDeviceToHost);
        cudaMemcpy(result, structures, sizeof result, cudaMemcpyDeviceToHost);
        cudaMemset(device, 0, sizeof host);
        cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    }
    if (!strcmp(which, "some"))
        for (int i = 0; i < 3; ++i) cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);  // some
    if (!strcmp(which, "asynchronous"))
        cudaMemcpyAsync(locked, device, sizeof host, cudaMemcpyDeviceToHost, 0);  // asynchronous
    if (!strcmp(which, "rows"))
        cudaMemcpy2D(host, 102, rows, pitch, 102, 2, cudaMemcpyDeviceToHost);  // rows
    if (!strcmp(which, "member")) {
        fill<<<1, 1>>>(device, 1);
        Mixed* half;
        cudaMalloc(&half, sizeof result);
        cudaMemcpy(half, structures, sizeof(Mixed) * 7, cudaMemcpyDeviceToDevice);
        cudaMemcpy(result, half, sizeof result, cudaMemcpyDeviceToHost);  // member
    }
    cudaDeviceSynchronize();
}
"""

TOLD = {
    "some": "96 bytes of 256 are copied to the host that nobody wrote, the first has the offset 160",
    "asynchronous": "96 bytes of 256 are copied to the host that nobody wrote, the first has the offset 160",
    "rows": "4 bytes of 204 are copied to the host that nobody wrote, the first has the offset 100",
    "member": "are copied to the host that nobody wrote",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAM, tmp_path_factory.mktemp("unwritten"))


def test_what_was_written_is_not_told_nor_what_lies_between_members(program):
    assert run(program, "written", CUDASIM_CHECK="init").stderr == ""


@pytest.mark.parametrize("which", TOLD)
def test_bytes_that_nobody_wrote_are_told_at_the_line_of_the_copy_once(program, which):
    lines = PROGRAM.splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"// {which}"))
    result = run(program, which, CUDASIM_CHECK="init")
    assert result.returncode == 0
    assert result.stderr.startswith("warning: uninitialised-copy: ") and TOLD[which] in result.stderr
    assert result.stderr.count("warning: ") == 1
    assert f"program.cu:{number}, in main" in result.stderr
    assert run(program, which, CUDASIM_CHECK="races,memory").stderr == ""


BEFORE_ANY_LAUNCH = """
#include <cstring>
__global__ void add_up(int* sum, const int* in, int n) {
    for (int i = 0; i < n; ++i) *sum += in[i];  // add_up
}
int main(int, char** arguments) {
    const char* which = arguments[1];
    int host[64] = {}, *in, *other, *sum;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&other, sizeof host);
    cudaMalloc(&sum, sizeof(int));
    cudaMemset(sum, 0, sizeof(int));
    if (!strcmp(which, "short")) cudaMemcpy(in, host, 64, cudaMemcpyHostToDevice);
    if (!strcmp(which, "hole")) {
        cudaMemcpy(in, host, 100, cudaMemcpyHostToDevice);
        cudaMemset((char*)in + 104, 0, 152);
    }
    if (!strcmp(which, "copied")) {
        cudaMemset(in, 0, sizeof host);
        cudaMemcpy(other, host, 128, cudaMemcpyHostToDevice);
        cudaMemcpy(in, other, sizeof host, cudaMemcpyDeviceToDevice);
    }
    if (!strcmp(which, "pieces"))
        for (int i = 63; i >= 0; i -= 2) {
            cudaMemcpy(in + i, host, 4, cudaMemcpyHostToDevice);
            cudaMemsetAsync(in + i - 1, 0, 4);
        }
    if (!strcmp(which, "rows")) {
        cudaMemset2D(in, 64, 0, 32, 4);
        cudaMemcpy2D(in + 8, 64, host, 32, 32, 4, cudaMemcpyHostToDevice);
    }
    add_up<<<1, 1>>>(sum, in, 64);
    cudaMemcpy(host, sum, 4, cudaMemcpyDeviceToHost);
}
"""


@pytest.mark.parametrize(
    ("which", "uses"), [("short", 48), ("hole", 1), ("copied", 32), ("pieces", 0), ("rows", 0)]
)
def test_what_the_host_writes_before_the_first_launch_is_known_to_the_byte(tmp_path, which, uses):
    report = run(compiled(BEFORE_ANY_LAUNCH, tmp_path), which, CUDASIM_CHECK="init").stderr
    if uses == 0:
        assert report == ""
    else:
        assert "uninitialised-value: " in report and "program.cu:4:" in report
        assert uses == 1 or f"{uses} times" in report


def test_check_has_it_among_its_findings(program):
    result = subprocess.run(
        [sys.executable, "-m", "cudasim", "check", "--schedules", "0", "--tool", "initcheck", program, "some"],
        cwd=program.parent, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr.count("warning: uninitialised-copy: 96 bytes of 256") == 1
    assert "1 finding (0 errors, 1 warning, 0 notes)" in result.stderr
