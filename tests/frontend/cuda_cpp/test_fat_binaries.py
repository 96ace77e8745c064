"""Objects and executables of NVIDIA's nvcc with cudasim's libcudart.so: their PTX runs, plain and compressed."""

import os
import shutil
import subprocess
import sys

import pytest
from cuda_programs import TOOLKIT, environment, run

LIBRARIES = TOOLKIT / "lib64"

PROGRAM = """
#include <cstdio>
#include <cuda_runtime.h>
__device__ int counter;
__constant__ float table[64];
template <typename T> __global__ void scale(T* p, T f, int n) {
    __shared__ T tile[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? p[i] : 0;
    __syncthreads();
    if (i < n) p[i] = tile[31 - threadIdx.x] * f + table[i & 63];
    atomicAdd(&counter, 1);
}
__global__ void show() { printf("block %d, %d threads\\n", blockIdx.x, counter); }
int main() {
    float *p, h[96];
    for (int i = 0; i < 96; ++i) h[i] = i;
    cudaMalloc((void**)&p, sizeof h);
    cudaMemcpy(p, h, sizeof h, cudaMemcpyHostToDevice);
    scale<<<3, 32>>>(p, 2.0f, 96);
    cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 96; ++i)
        if (h[i] != 2 * (i / 32 * 32 + 31 - i % 32)) return 1;
    show<<<1, 1>>>();
    return cudaDeviceSynchronize();
}
"""

LAUNCH = """
__global__ void twice(float* p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 2;
}
void launch(float* p, int n) { twice<<<2, 32>>>(p, n); }
"""

MAIN = """
#include <cuda_runtime.h>
#include <cstdio>
void launch(float*, int);
int main() {
    float h[64], *p;
    for (int i = 0; i < 64; ++i) h[i] = i;
    cudaMalloc((void**)&p, sizeof h);
    cudaMemcpy(p, h, sizeof h, cudaMemcpyHostToDevice);
    launch(p, 64);
    cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g %g\\n", h[1], h[63]);
}
"""


@pytest.fixture(scope="module")
def nvidias(tmp_path_factory):
    """A function that runs NVIDIA's nvcc in a folder, on a text."""
    path = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(path, os.X_OK) or "NVIDIA" not in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:  # fmt: skip
        pytest.skip("NVIDIA's nvcc is not installed: it makes the fat binaries")
    folder = tmp_path_factory.mktemp("nvidia")

    def compiled(text, output, *options):
        source = folder / f"{output}.cu"
        source.write_text(text)
        subprocess.run([path, source, "-o", folder / output, *options], cwd=folder, check=True, timeout=300)
        return folder / output

    return compiled


def test_an_executable_with_shared_cudart_runs_unchanged(nvidias):
    program = nvidias(PROGRAM, "shared", "-cudart", "shared", "-arch=compute_75", "-O3")
    result = run(program, LD_LIBRARY_PATH=str(LIBRARIES))
    assert (result.returncode, result.stdout, result.stderr) == (0, "block 0, 96 threads\n", "")


@pytest.mark.parametrize("mode", ["none", "speed", "balance", "size"])
def test_objects_link_with_others_however_they_are_compressed(nvidias, mode, tmp_path):
    """LZ4 with speed, zstd with balance and size."""
    made = nvidias(LAUNCH, f"launch_{mode}.o", "-c", f"-compress-mode={mode}", "-arch=compute_80")
    (tmp_path / "main.cpp").write_text(MAIN)
    command = [
        "g++",
        "-I",
        TOOLKIT / "include",
        "main.cpp",
        made,
        "-o",
        "program",
        f"-L{LIBRARIES}",
        "-lcudart",
    ]
    subprocess.run([*command, f"-Wl,-rpath,{LIBRARIES}"], cwd=tmp_path, check=True, timeout=300)
    result = run(tmp_path / "program")
    assert (result.returncode, result.stdout, result.stderr) == (0, "2 126\n", "")


def test_machine_code_alone_is_refused_with_the_flag(nvidias):
    program = nvidias(PROGRAM, "sass", "-cudart", "shared", "-gencode", "arch=compute_80,code=sm_80")
    result = run(program, LD_LIBRARY_PATH=str(LIBRARIES))
    assert "machine code (SASS) for sm_80 without PTX" in result.stderr
    assert "-gencode arch=compute_90,code=compute_90" in result.stderr
    assert result.stderr.count("SASS") == 1  # though two launches are refused
    assert result.returncode == 1


def test_files_that_use_each_others_functions_and_variables(nvidias):
    """nvcc -rdc=true: each file's PTX stays apart in the executable."""
    kernel = nvidias(
        "extern __device__ int offset; __device__ int squared(int); __device__ int first = 1;"
        "__global__ void kernel(int* p) { p[threadIdx.x] = squared(threadIdx.x) + offset + first; }"
        "void launch(int* p) { kernel<<<1, 4>>>(p); }",
        "kernel.o",
        *("-rdc=true", "-c", "-gencode", "arch=compute_80,code=[sm_80,compute_80]"),
    )
    program = nvidias(
        """
        #include <cstdio>
        __device__ int offset = 100;
        __device__ int squared(int x) { return x * x; }
        void launch(int*);
        int main() {
            int *p, h[4], seven = 7;
            cudaMalloc((void**)&p, sizeof h);
            cudaMemcpyToSymbol(offset, &seven, sizeof seven);
            launch(p);
            cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
            printf("%d %d %d %d\\n", h[0], h[1], h[2], h[3]);
        }
        """,
        "separate",
        *(kernel, "-rdc=true", "-cudart", "shared", "-gencode", "arch=compute_80,code=[sm_80,compute_80]"),
    )
    result = run(program, LD_LIBRARY_PATH=str(LIBRARIES))
    assert (result.returncode, result.stdout, result.stderr) == (0, "8 9 12 17\n", "")


MANAGED = """
#include <cstdio>
__managed__ int counter = 5;
static __managed__ float values[4] = {1, 2, 3};
__managed__ int untouched_by_kernels = 8;
__device__ int plain = 7;
__global__ void kernel() { atomicAdd(&counter, 1); values[3] = values[0] + values[1] + plain; }
int main() {
    printf("%d %g %d\\n", counter, values[2], untouched_by_kernels);
    counter = 10;
    kernel<<<1, 4>>>();
    cudaDeviceSynchronize();
    int read = 0;
    cudaMemcpyFromSymbol(&read, counter, sizeof read);
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, &counter);
    printf("%d %g %d %d\\n", counter, values[3], read, attributes.type == cudaMemoryTypeManaged);
}
"""


def test_managed_variables(nvidias):
    program = nvidias(MANAGED, "managed", "-cudart", "shared", "-arch=compute_80")
    result = run(program, LD_LIBRARY_PATH=str(LIBRARIES))
    assert (result.returncode, result.stdout, result.stderr) == (0, "5 3 8\n14 10 14 1\n", "")


def test_an_executable_with_static_cudart_is_not_run(nvidias):
    """It would call NVIDIA's driver: the commands say so. One with the shared runtime is run."""
    static = nvidias(PROGRAM, "static", "-arch=compute_80")
    shared = nvidias(PROGRAM, "dynamic", "-cudart", "shared", "-arch=compute_80")
    for command in ("run", "check"):
        for program, status in ((static, 2), (shared, 0)):
            result = subprocess.run(
                [sys.executable, "-m", "cudasim", command, program],
                env=environment(), capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert result.returncode == status, result.stderr
            assert ("has NVIDIA's runtime linked in" in result.stderr) == (status == 2)
            assert ("nvcc -cudart shared" in result.stderr) == (status == 2)
