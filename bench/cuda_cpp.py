"""Kernels in CUDA C++ (cuda_cpp_kernels.cu), beside the same in OpenCL on PoCL; compiling, and a program from its start to its end."""

import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from cudasim.cuda_cpp import toolkit

SOURCE = pathlib.Path(__file__).with_name("cuda_cpp_kernels.cu")
KERNELS = ("vector_add_large", "matmul_naive", "matmul_tiled", "block_sums", "histogram_large")
ROUNDS = 7

_folder = tempfile.TemporaryDirectory(prefix="cudasim-bench-")  # of this process


def _program(source=SOURCE):
    """The executable; compiled once in a process."""
    program = pathlib.Path(_folder.name) / source.stem
    if not program.exists():
        subprocess.run([toolkit.nvcc(), "-O2", "-std=c++17", source, "-o", program], check=True)
    return program


def _printed(name, **variables):
    environment = {**os.environ, "CUDASIM_WORKERS": "1", **variables}
    done = subprocess.run([_program(), name], env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {name} of {SOURCE.name} failed")
    return float(done.stdout)


def _median(action):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _compile():
    """What nvcc takes for about 200 lines on all cores."""
    output = pathlib.Path(_folder.name) / "object.o"
    return _median(lambda: subprocess.run([toolkit.nvcc(), "-c", SOURCE, "-o", output], check=True))


_SMALL = """#include <cstdio>
__global__ void add(float* x) { x[threadIdx.x] += 1; }
int main() {
    float* x;
    cudaMalloc(&x, 128);
    cudaMemset(x, 0, 128);
    add<<<1, 32>>>(x);
    return cudaDeviceSynchronize();
}
"""


def _small_program(cached):
    source = pathlib.Path(_folder.name) / "small.cu"
    source.write_text(_SMALL)
    program = source.with_suffix(".out")
    subprocess.run([toolkit.nvcc(), source, "-o", program], check=True)
    cache = (
        {"CUDASIM_CACHE": "1", "CUDASIM_CACHE_DIR": tempfile.mkdtemp(dir=_folder.name)}
        if cached
        else {"CUDASIM_CACHE": "0"}
    )

    def run():
        subprocess.run([program], env={**os.environ, **cache}, check=True)

    run()
    return _median(run)


OWN = {
    **{f"cpp_{name}": (lambda name=name: _printed(name)) for name in KERNELS},
    **{f"cpp_unchecked_{name}": (lambda name=name: _printed(name, CUDASIM_CHECK="none")) for name in KERNELS},
    "cpp_launch": lambda: _printed("launch"),
    "cpp_compile": _compile,
    "cpp_program_warm": lambda: _small_program(True),
    "cpp_program_cold": lambda: _small_program(False),
}
