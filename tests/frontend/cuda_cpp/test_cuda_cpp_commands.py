"""The commands of `cudasim` with .cu files and executables: toolkit, env, nvcc, run, check, debug, record, replay."""

import os
import pathlib
import subprocess
import sys
import time

import pytest
from cuda_programs import environment, needs_clang

pytestmark = needs_clang

SCALE = """
#include <cstdio>
#include <cstdlib>
#include "factor.h"
__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= FACTOR;
}
int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 8;
    float host[64] = {1, 2, 3}, *x;
    cudaMalloc(&x, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    scale<<<1, 64>>>(x, n);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d: %g %g\\n", n, host[0], host[2]);
    return n == 13 ? 3 : 0;
}
"""

RACE = """
#include <cstdio>
__global__ void sum(const int* a, int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = a[threadIdx.x];
    if (threadIdx.x == 0) {
        int total = 0;
        for (int i = 0; i < 64; i++) total += s[i];
        *out = total;
    }
}
int main() {
    int host[64] = {5}, *a, *out;
    cudaMalloc(&a, sizeof host);
    cudaMalloc(&out, sizeof(int));
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    sum<<<1, 64>>>(a, out);
    cudaDeviceSynchronize();
    puts("the program's own end");
}
"""

HOST_POINTER = """
__global__ void add(const int* a, int* out) { out[threadIdx.x] = a[threadIdx.x] + 1; }
int main() {
    int host[32] = {}, *out;
    cudaMalloc(&out, sizeof host);
    add<<<1, 32>>>(host, out);
    cudaDeviceSynchronize();
}
"""


def cudasim(*arguments: object, cwd: pathlib.Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cudasim", *map(str, arguments)],
        cwd=cwd, env=environment(CUDASIM_CACHE_DIR=str(cwd / "cache"), **variables), capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs")
    (path / "cache").mkdir(mode=0o700)
    (path / "scale.cu").write_text(SCALE)
    (path / "factor.h").write_text("#define FACTOR 10\n")
    (path / "race.cu").write_text(RACE)
    return path


def test_a_source_is_compiled_once_and_again_when_a_header_changes(folder):
    result = cudasim("run", "scale.cu", cwd=folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "8: 10 30\n", "")
    programs = sorted((folder / "cache" / "programs").rglob("scale"))
    assert len(programs) == 1
    made = programs[0].stat().st_mtime_ns
    result = cudasim("run", "scale.cu", "--", "13", cwd=folder)
    assert (result.returncode, result.stdout) == (3, "13: 10 30\n")
    assert programs[0].stat().st_mtime_ns == made
    (folder / "factor.h").write_text("#define FACTOR 100\n")
    assert cudasim("run", "scale.cu", "--", "2", cwd=folder).stdout == "2: 100 3\n"
    assert cudasim("run", "scale.cu", "-DOTHER", "--", "2", cwd=folder).stdout == "2: 100 3\n"
    (folder / "factor.h").write_text("#define FACTOR 10\n")


def test_what_cannot_be_built_is_said(folder):
    result = cudasim("run", "scale.cu", "64", cwd=folder)
    assert result.returncode != 0
    assert "arguments of the program go behind --" in result.stderr
    (folder / "wrong.cu").write_text("int main() { return x; }\n")
    result = cudasim("run", "wrong.cu", cwd=folder)
    assert result.returncode == 1
    assert "wrong.cu:1" in result.stderr and "use of undeclared identifier 'x'" in result.stderr
    assert "Traceback" not in result.stderr
    result = cudasim("run", "missing.cu", cwd=folder)
    assert result.returncode != 0 and "missing.cu" in result.stderr and "Traceback" not in result.stderr


def test_make_finds_nvcc_and_the_program_runs_by_itself(folder):
    (folder / "Makefile").write_text(
        "NVCC ?= nvcc\nall: made\nmade: scale.o\n\t$(NVCC) -o $@ $^\n%.o: %.cu\n\t$(NVCC) -O2 -c $< -o $@\n"
        "host: host.cpp\n\tg++ -I$(CUDA_HOME)/include $< -o $@ -L$(CUDA_HOME)/lib64 -lcudart\n"
    )
    (folder / "host.cpp").write_text(
        '#include <cuda_runtime.h>\n#include <cstdio>\nint main() { int n = 0; cudaGetDeviceCount(&n); printf("%d\\n", n); }\n'
    )
    result = cudasim("env", "--", "make", "all", "host", cwd=folder)
    assert result.returncode == 0, result.stderr
    for program, output in (("made", "8: 10 30\n"), ("host", "1\n")):
        ran = subprocess.run([f"./{program}"], cwd=folder, env=environment(), capture_output=True, text=True)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, output, "")
    result = cudasim("run", "./made", "5", cwd=folder)
    assert (result.returncode, result.stdout) == (0, "5: 10 30\n")


def test_the_environment_for_shells(folder):
    toolkit = cudasim("toolkit", cwd=folder).stdout.strip()
    assert os.access(os.path.join(toolkit, "bin", "nvcc"), os.X_OK)
    script = f'eval "$({sys.executable} -m cudasim env)" && command -v nvcc && echo "$CUDA_HOME" "$CUDACXX"'
    result = subprocess.run(["bash", "-c", script], env=environment(), capture_output=True, text=True)
    assert result.stdout.split() == [f"{toolkit}/bin/nvcc", toolkit, f"{toolkit}/bin/nvcc"]
    result = cudasim("env", "--", "no-such-command", cwd=folder)
    assert result.returncode == 127 and "no-such-command" in result.stderr
    assert "release" in cudasim("nvcc", "--version", cwd=folder).stdout


def test_check_finds_a_race_and_repeats_the_launch_under_another_order(folder):
    result = cudasim("check", "--json", "found.json", "race.cu", cwd=folder)
    assert result.returncode == 1
    assert "error: data-race: write of s[" in result.stderr
    assert "race.cu:8" in result.stderr and "race.cu:5" in result.stderr
    assert "results differ" in result.stderr
    assert "1 launch of 1 kernel under 2 schedules" in result.stderr
    assert result.stdout == "the program's own end\n"
    assert '"data-race"' in (folder / "found.json").read_text()
    token = next(line for line in result.stderr.splitlines() if "repeat it" in line).split()[-1]
    again = cudasim("check", "--schedule", token, "race.cu", cwd=folder)
    assert "data-race" in again.stderr and again.returncode == 1


def test_check_tells_a_pointer_of_the_host_once_whichever_process_repeats_the_launch(folder):
    (folder / "host_pointer.cu").write_text(HOST_POINTER)
    result = cudasim("check", "--check", "memory", "host_pointer.cu", cwd=folder)
    assert result.returncode == 1
    assert result.stderr.count("error: ") == result.stderr.count("error: host-pointer: ") == 1, result.stderr
    assert "order of threads: forward, reverse" in result.stderr


def test_the_debugger_stops_in_a_kernel_of_a_source_file(folder):
    result = cudasim(
        "debug", "-batch", "-ex", "break sum", "-ex", "run", "-ex", "next", "-ex", "print s[0]", "-ex", "info locals", "race.cu",
        cwd=folder,
    )  # fmt: skip
    assert "Breakpoint 1, sum block(0,0,0) thread(0,0,0) at race.cu:5" in result.stdout, (
        result.stdout + result.stderr
    )
    assert "$1 = 5" in result.stdout


def test_recorded_launches_replay(folder):
    result = cudasim("record", "-o", "run.cudasim", "scale.cu", "--", "4", cwd=folder)
    assert result.stdout == "4: 10 30\n" and "1 of 1 launches are in run.cudasim" in result.stderr
    assert "reproduced to the bit" in cudasim("replay", "run.cudasim", cwd=folder).stdout
    assert "scale" in cudasim("show", "run.cudasim", cwd=folder).stdout


def test_options_of_the_command_are_the_programs(folder):
    (folder / "spin.cu").write_text(
        "__global__ void spin(volatile int* x) { while (*x == 0) x[1]++; }\n"
        "int main() { int* x; cudaMalloc(&x, 8); cudaMemset(x, 0, 8); spin<<<1, 1>>>(x); return cudaDeviceSynchronize() == 0; }\n"
    )
    began = time.monotonic()
    result = cudasim("run", "--time-limit", "0.5", "spin.cu", cwd=folder)
    assert result.returncode == 1 and time.monotonic() - began < 60
    assert "spin.cu:1" in result.stderr
