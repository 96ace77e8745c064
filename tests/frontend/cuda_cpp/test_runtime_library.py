"""libcudart.so as a library: its names and versions, programs without nvcc, wild arguments, unloading."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest
from frontend.cuda_cpp.cuda_programs import ROOT, TOOLKIT, compiled, needs_clang, nvcc, run

LIBRARY = TOOLKIT / "lib64" / "libcudart.so.13"
PROGRAMS = pathlib.Path(__file__).parent / "programs"
NAMES = pathlib.Path(__file__).parent / "runtime_names.txt"
NOT_DONE = ROOT / "frontend/cuda_cpp/runtime/not_done.def"

needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not on PATH")


def expected_names() -> set[str]:
    return {line for line in NAMES.read_text().splitlines() if line and not line.startswith("#")}


def exported() -> dict[str, set[str]]:
    """Names of functions, and the versions that each has; none for one that serves all."""
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    found: dict[str, set[str]] = {}
    for line in listing.splitlines():
        kind, name = line.split()[1:]
        if kind == "A":
            continue
        name, _, version = name.partition("@")
        found.setdefault(name, set()).add(version.lstrip("@"))
    return found


def built(compiler: str, source: str, folder: pathlib.Path, *options: str, name: str = "program"):
    suffix = ".c" if compiler == "gcc" else ".cpp"
    (folder / (name + suffix)).write_text(source)
    result = subprocess.run(
        [compiler, "-Wall", "-Wextra", "-Werror", *options, f"-I{TOOLKIT}/include", name + suffix, "-o", name]
        + [f"-L{TOOLKIT}/lib64", "-lcudart", f"-Wl,-rpath,{TOOLKIT}/lib64", "-ldl"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return folder / name


def test_every_function_of_the_reference_is_there_and_nothing_else():
    found = set(exported())
    assert expected_names() - found == set()
    assert found - expected_names() == set()


def test_what_is_not_done_is_a_function_of_the_reference():
    listed = re.findall(r"^NOT_DONE\((\w+)\)", NOT_DONE.read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) <= expected_names()
    defined = {
        name
        for path in NOT_DONE.parent.glob("*.cpp")
        for name in re.findall(r"^cudaError_t (_*cuda\w+)\(", path.read_text(), re.MULTILINE)
    }
    assert set(listed) & defined == set()


def test_functions_with_two_forms_have_both_versions():
    both = {
        name for name, versions in exported().items() if versions == {"libcudart.so.12", "libcudart.so.13"}
    }
    assert both == {
        "cudaGetDeviceProperties",
        "cudaMemAdvise",
        "cudaMemPrefetchAsync",
        "cudaMemPrefetchAsync_ptsz",
        "cudaMemcpyBatchAsync",
    }
    assert all(versions == {""} for name, versions in exported().items() if name not in both)


CALLS_FROM_C = """
#include <cuda_runtime_api.h>
#include <cuda_runtime.h>
#include <stdio.h>

int main(void) {
    struct cudaDeviceProp properties;
    cudaStream_t stream;
    cudaEvent_t event;
    int count = 0;
    dim3 grid;
    grid.x = grid.y = grid.z = 1;
    if (CUDART_VERSION != 13000 || sizeof(struct cudaDeviceProp) != 1008) return 2;
    if (cudaGetDeviceCount(&count) != cudaSuccess) return 3;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 4;
    if (cudaStreamCreate(&stream) != cudaSuccess || cudaEventCreate(&event) != cudaSuccess) return 5;
    if (cudaEventRecord(event, stream) != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess) return 6;
    if (cudaLaunchKernel((const void*)&count, grid, grid, 0, 0, stream) != cudaErrorInvalidResourceHandle) return 7;
    printf("%d devices, warps of %d\\n", count, properties.warpSize);
    return 0;
}
"""


@needs_gcc
def test_programs_in_c_and_cpp_need_no_nvcc(tmp_path):
    for compiler, standard in (
        ("gcc", "-std=c99"),
        ("gcc", "-std=c17"),
        ("g++", "-std=c++11"),
        ("g++", "-std=c++20"),
    ):
        program = built(compiler, CALLS_FROM_C, tmp_path, standard, name=f"from_c{standard[5:].strip('+')}")
        result = run(program)
        assert (result.returncode, result.stdout) == (0, "1 devices, warps of 32\n"), result.stderr
    # The stream of the thread in the place of the default stream: other functions, same results.
    program = built("g++", CALLS_FROM_C, tmp_path, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", name="per_thread")
    assert run(program).returncode == 0


# A library with the version node that CUDA 12's has, to link against; the program gets ours when it runs.
LIBRARY_OF_CUDA_12 = """
extern "C" {
int cudaGetDeviceCount(int*) { return 99; }
int cudaGetDeviceProperties(void*, int) { return 99; }
int cudaGetDeviceProperties_v2(void*, int) { return 99; }
int cudaRuntimeGetVersion(int*) { return 99; }
}
"""
PROGRAM_OF_CUDA_12 = """
#include <cstdio>
#include <cstring>
extern "C" {
int cudaGetDeviceCount(int*);
int cudaGetDeviceProperties(void*, int);
int cudaGetDeviceProperties_v2(void*, int);
int cudaRuntimeGetVersion(int*);
}
int main() {
    // Where CUDA 12 has clockRate, totalConstMem, and where CUDA 11's structure ended.
    const unsigned clock_rate = 348, constant = 352, end_of_11 = 728, end_of_12 = 1032;
    static unsigned char room[2048];
    int count = 0, value = 0;
    unsigned long bytes = 0;
    if (cudaGetDeviceCount(&count) != 0) return 2;
    for (int round = 0; round < 2; ++round) {
        const bool old = round == 1;
        std::memset(room, 0xEE, sizeof room);
        if ((old ? cudaGetDeviceProperties(room, 0) : cudaGetDeviceProperties_v2(room, 0)) != 0) return 3;
        std::memcpy(&value, room + clock_rate, 4);
        std::memcpy(&bytes, room + constant, 8);
        if (value <= 0 || bytes != 65536) return 4;
        for (unsigned i = old ? end_of_11 : end_of_12; i < sizeof room; ++i)
            if (room[i] != 0xEE) return std::printf("written at %u\\n", i), 5;
        if (room[(old ? end_of_11 : end_of_12) - 1] == 0xEE) return 6;
    }
    std::puts("ok");
}
"""


@needs_gcc
def test_executables_of_cuda_12_load_without_a_warning(tmp_path):
    (tmp_path / "old.cpp").write_text(LIBRARY_OF_CUDA_12)
    (tmp_path / "old.map").write_text("libcudart.so.12 { global: *; };")
    (tmp_path / "program.cpp").write_text(PROGRAM_OF_CUDA_12)
    for command in (
        ["g++", "-shared", "-fPIC", "old.cpp", "-o", "libcudart.so.12", "-Wl,-soname,libcudart.so.12"]
        + ["-Wl,--version-script,old.map"],
        ["g++", "program.cpp", "-o", "program", "./libcudart.so.12", f"-Wl,-rpath,{TOOLKIT}/lib64"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    result = run(tmp_path / "program")
    assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")


@needs_gcc
def test_arguments_without_sense_crash_nothing(tmp_path):
    program = built("g++", (PROGRAMS / "runtime_arguments.cpp").read_text(), tmp_path, "-Wno-unused-result")
    # What compilers call is given what they made; what calls back is given a function.
    called_back = {
        "cudaLaunchHostFunc",
        "cudaLaunchHostFunc_ptsz",
        "cudaStreamAddCallback",
        "cudaStreamAddCallback_ptsz",
    }
    called_back.add("cudaCreateChannelDesc")  # it returns a struct, whose place comes as an argument
    names = sorted(name for name in expected_names() - called_back if not name.startswith("__"))
    result = run(program, *names)
    assert result.stdout == "0 failures\n"


PLUGIN = """
#include <cuda_runtime.h>
__device__ int counter = 40;
__global__ void count(int* result) { *result = ++counter; }
extern "C" int plugin_counts() {
    int *memory, host = -1;
    if (cudaMalloc(&memory, 4) != cudaSuccess) return -2;
    count<<<1, 1>>>(memory);
    if (cudaMemcpy(&host, memory, 4, cudaMemcpyDeviceToHost) != cudaSuccess) return -3;
    cudaFree(memory);
    return host;
}
"""
USES_PLUGIN = """
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <cstdio>
__global__ void count(int* result) { *result = 7; }
int main() {
    for (int i = 0; i < 3; ++i) {
        void* library = dlopen("./libplugin.so", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return std::puts(dlerror()), 2;
        auto* counts = reinterpret_cast<int (*)()>(dlsym(library, "plugin_counts"));
        std::printf("%d", counts());
        std::printf(" %d ", counts());
        dlclose(library);
    }
    int *memory, host = -1;
    cudaMalloc(&memory, 4);
    count<<<1, 1>>>(memory);
    cudaMemcpy(&host, memory, 4, cudaMemcpyDeviceToHost);
    std::printf("%d\\n", host);
}
"""


@needs_clang
def test_a_library_that_is_loaded_again_begins_anew(tmp_path):
    (tmp_path / "plugin.cu").write_text(PLUGIN)
    result = nvcc("-shared", "-Xcompiler", "-fPIC", "-o", "libplugin.so", "plugin.cu", cwd=tmp_path)
    if result.returncode != 0 and "-shared" in result.stderr + result.stdout:
        pytest.skip("this nvcc makes no shared libraries")
    assert result.returncode == 0, result.stderr
    program = compiled(USES_PLUGIN, tmp_path, name="uses_plugin")
    result = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "41 42 41 42 41 42 7\n"), result.stderr


SAME = """
#include <cuda_runtime.h>
__device__ int counter = 40;
__managed__ int managed = 20;
static __global__ void count(int* result) { result[0] = ++counter, result[1] = ++managed; }
extern "C" __attribute__((visibility("default"))) int NAME(int first) {
    int *memory, host[2] = {-1};
    if (first) cudaMemcpyToSymbol(counter, &first, sizeof first);
    cudaMalloc(&memory, 8);
    count<<<1, 1>>>(memory);
    cudaMemcpy(host, memory, 8, cudaMemcpyDeviceToHost);
    cudaFree(memory);
    return host[0] * 1000 + host[1] * 10 + (managed == host[1]);
}
"""
USES_SAME = """
#include <cstdio>
extern "C" int one(int);
extern "C" int two(int);
int main() {
    const int results[] = {one(0), two(0), one(0), two(7), one(0)};
    for (const int each : results) std::printf("%d ", each);
}
"""


@needs_clang
@pytest.mark.parametrize("options", [[], ["-rdc=true"]])
def test_libraries_with_the_same_device_code_have_variables_of_their_own(tmp_path, options):
    (tmp_path / "same.cu").write_text(SAME)
    (tmp_path / "main.cpp").write_text(USES_SAME)
    hidden = ("-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden", *options)
    for name in ("one", "two"):
        result = nvcc("same.cu", f"-DNAME={name}", *hidden, "-o", f"lib{name}.so", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    result = nvcc(
        "main.cpp", "-L.", "-lone", "-ltwo", "-Xlinker", f"-rpath,{tmp_path}", "-o", "main", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    result = run(tmp_path / "main")
    assert (result.stdout, result.stderr) == ("41211 41211 42221 8221 43231 ", "")
