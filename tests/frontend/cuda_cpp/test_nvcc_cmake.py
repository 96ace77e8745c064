"""Stock CMake with our nvcc: projects configure, build and run as with NVIDIA's toolkit."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest
from cuda_programs import NVCC, TOOLKIT, environment, needs_clang

pytestmark = [
    needs_clang,
    pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not on PATH"),
]

KERNEL = """
#include <cstdio>
__global__ void twice(int* x) { x[threadIdx.x] *= 2; }
int run_twice() {
    int host[32], *device;
    for (int i = 0; i < 32; ++i) host[i] = i;
    cudaMalloc(&device, sizeof(host));
    cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(device);
    cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
    cudaFree(device);
    for (int i = 0; i < 32; ++i)
        if (host[i] != 2 * i) return 1;
    return 0;
}
"""
MAIN = """
#include <cstdio>
int run_twice();
int main() { int failed = run_twice(); puts(failed ? "wrong" : "right"); return failed; }
"""

ONE_PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(example LANGUAGES CXX CUDA)
set(CMAKE_CUDA_ARCHITECTURES 70 80)
add_executable(plain kernel.cu main.cpp)
add_library(kernels STATIC kernel.cu)
add_executable(with_static_library main.cpp)
target_link_libraries(with_static_library PRIVATE kernels)
add_library(shared_kernels SHARED kernel.cu)
add_executable(with_shared_library main.cpp)
target_link_libraries(with_shared_library PRIVATE shared_kernels)
add_executable(of_shared_runtime kernel.cu main.cpp)
set_target_properties(of_shared_runtime PROPERTIES CUDA_RUNTIME_LIBRARY Shared CUDA_STANDARD 14)
target_compile_options(of_shared_runtime PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-lineinfo;-Xcompiler=-Wall,-Wextra>")
enable_testing()
foreach(program plain with_static_library with_shared_library of_shared_runtime)
  add_test(NAME ${program} COMMAND ${program})
endforeach()
"""

SEPARABLE_PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(example LANGUAGES CXX CUDA)
add_executable(separable main.cu part.cu)
set_target_properties(separable PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_ARCHITECTURES 75)
"""
PART = "__device__ int offset = 40;\n__device__ int plus_offset(int x) { return x + offset; }\n"
USES_PART = """
#include <cstdio>
extern __device__ int offset;
__device__ int plus_offset(int);
__global__ void kernel(int* x) { *x = plus_offset(2); }
int main() {
    int *x, y = 0;
    cudaMalloc(&x, sizeof(int));
    kernel<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\\n", y);
}
"""

FIND_CUDA_PROJECT = """
cmake_minimum_required(VERSION 3.10)
project(example LANGUAGES CXX)
find_package(CUDA REQUIRED)
set(CUDA_SEPARABLE_COMPILATION ON)
list(APPEND CUDA_NVCC_FLAGS -arch=sm_75)
cuda_add_executable(executable main.cu part.cu)
cuda_add_library(parts STATIC launch.cu part.cu)
add_executable(with_static_library main.cpp)
target_link_libraries(with_static_library parts)
"""
# Nothing of the part is named by host code: the device link has its object taken from the library.
PART_WITH_HEADER = '#include "value.h"\n' + PART.replace("40", "VALUE")

HOST_PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(example LANGUAGES CXX)
find_package(CUDAToolkit REQUIRED)
message(STATUS "toolkit ${CUDAToolkit_VERSION} in ${CUDAToolkit_LIBRARY_DIR}")
add_executable(shared_runtime host.cpp)
target_link_libraries(shared_runtime PRIVATE CUDA::cudart)
add_executable(static_runtime host.cpp)
target_link_libraries(static_runtime PRIVATE CUDA::cudart_static)
"""
HOST = """
#include <cuda_runtime.h>
#include <cstdio>
int main() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 1) return 1;
    puts("right");
}
"""


def toolkit_environment() -> dict[str, str]:
    """What `cudasim env` sets."""
    variables = environment(CUDACXX=str(NVCC), CUDAToolkit_ROOT=str(TOOLKIT), CUDA_PATH=str(TOOLKIT))
    return variables | {"PATH": str(TOOLKIT / "bin") + os.pathsep + variables["PATH"]}


def cmake(folder: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    """Configures and builds a project of these files. Returns its build folder."""
    for name, text in files.items():
        (folder / name).write_text(text)
    for command in (["-S", ".", "-B", "build"], ["--build", "build"]):
        done = subprocess.run(
            ["cmake", *command],
            cwd=folder,
            env=toolkit_environment(),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build"


def output(program: pathlib.Path) -> str:
    # Without LD_LIBRARY_PATH: as a program that is started later, by somebody else.
    done = subprocess.run([program], env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_cmake_builds_programs_and_libraries(tmp_path):
    build = cmake(tmp_path, {"CMakeLists.txt": ONE_PROJECT, "kernel.cu": KERNEL, "main.cpp": MAIN})
    for program in ("plain", "with_static_library", "with_shared_library", "of_shared_runtime"):
        assert output(build / program) == "right\n"


def test_cmake_builds_with_relocatable_device_code(tmp_path):
    build = cmake(tmp_path, {"CMakeLists.txt": SEPARABLE_PROJECT, "main.cu": USES_PART, "part.cu": PART})
    assert output(build / "separable") == "42\n"


def test_projects_of_find_cuda_link_device_code_of_static_libraries(tmp_path):
    files = {
        "CMakeLists.txt": FIND_CUDA_PROJECT,
        "main.cu": USES_PART,
        "launch.cu": USES_PART.replace("int main()", "void launch()"),
        "main.cpp": "void launch();\nint main() { launch(); }\n",
        "part.cu": PART_WITH_HEADER,
        "value.h": "#define VALUE 40\n",
    }
    build = cmake(tmp_path, files)
    assert output(build / "executable") == "42\n"
    assert output(build / "with_static_library") == "42\n"
    # What nvcc -M says of headers is understood.
    build = cmake(tmp_path, {"value.h": "#define VALUE 50\n"})
    assert output(build / "with_static_library") == "52\n"


def test_cmake_finds_the_toolkit_for_host_code(tmp_path):
    build = cmake(tmp_path, {"CMakeLists.txt": HOST_PROJECT, "host.cpp": HOST})
    assert output(build / "shared_runtime") == "right\n"
    assert output(build / "static_runtime") == "right\n"
    assert str(TOOLKIT) in (build / "CMakeCache.txt").read_text()
