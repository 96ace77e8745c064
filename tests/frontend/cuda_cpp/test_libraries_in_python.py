"""Libraries of CUDA C++ in Python's process: one engine, arrays of numba.cuda, exceptions of Python."""

import pathlib
import subprocess
import sys

import pytest
from cuda_programs import environment, needs_clang, nvcc

pytestmark = needs_clang

LIBRARY = """
#include <cstdio>
__global__ void scale(float* x, int n, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
    if (i == 0) printf("scaled\\n");
}
__global__ void divide(int* x, int by) { x[threadIdx.x] = 100 / (threadIdx.x - by); }
extern "C" int scale_array(float* x, int n, float factor) {
    scale<<<(n + 63) / 64, 64>>>(x, n, factor);
    return cudaDeviceSynchronize();
}
extern "C" int divide_array(int* x, int by) {
    divide<<<1, 8>>>(x, by);
    return cudaDeviceSynchronize();
}
extern "C" float* made(int n) {
    float* x;
    return cudaMalloc(&x, n * sizeof(float)) == cudaSuccess ? x : nullptr;
}
"""

SCRIPT = """
import ctypes, sys
import numpy as np
FIRST
library = ctypes.CDLL(sys.argv[1])
library.scale_array.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_float]
library.divide_array.argtypes = [ctypes.c_void_p, ctypes.c_int]
from numba import cuda

@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += y

x = cuda.to_device(np.arange(100, dtype=np.float32))
assert library.scale_array(x.device_ctypes_pointer.value, 100, 3.0) == 0
add[2, 64](x, 1)
assert np.array_equal(x.copy_to_host(), np.arange(100, dtype=np.float32) * 3 + 1)

z = cuda.to_device(np.zeros(8, np.int32))
status = library.divide_array(z.device_ctypes_pointer.value, 5)
print("status", status != 0)
try:
    cuda.synchronize()
except ZeroDivisionError as error:
    print("raised", error)
    print("note", [note for note in error.__notes__ if "divide" in note or "100 / " in note][:1] != [])
assert library.scale_array(x.device_ctypes_pointer.value, 100, 1.0) == 0
cuda.synchronize()
add[2, 64](x, 1)
print("goes on", x.copy_to_host()[0])
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "scaling.cu").write_text(LIBRARY)
    made = nvcc("-shared", "-Xcompiler", "-fPIC", "-o", "libscaling.so", "scaling.cu", cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder / "libscaling.so"


@pytest.mark.parametrize("first", ["", "from numba import cuda"])
def test_a_library_has_pythons_devices_and_exceptions(library, tmp_path, first):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("FIRST", first))
    result = subprocess.run(
        [sys.executable, script, library],
        env=environment(ENABLE_CUDASIM="1"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "raised tid=[5, 0, 0] ctaid=[0, 0, 0]" in result.stdout
    assert "status True" in result.stdout and "note True" in result.stdout and "goes on 2.0" in result.stdout
    assert result.stdout.count("scaled\n") == 2


def test_the_process_has_one_engine(library):
    code = (
        "import ctypes, sys; ctypes.CDLL(sys.argv[1]); import cudasim._native\n"
        "print(*sorted({line.split()[-1] for line in open('/proc/self/maps') if 'libcudasim.so' in line}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, library], env=environment(), capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.split()) == 1
    assert pathlib.Path(result.stdout.strip()).name == "libcudasim.so"
