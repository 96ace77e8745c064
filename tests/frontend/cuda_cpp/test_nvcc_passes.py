"""What nvcc does with sources: two passes and their messages, outputs, several files, OpenMP, interruption."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest
from cuda_programs import NVCC, TOOLKIT, environment, needs_clang, nvcc, run

pytestmark = needs_clang

MESSAGES = """
#include "warns.h"
__global__ void kernel(int* x) { int unused_in_kernel = 3; *x = 7; }
#ifndef __CUDA_ARCH__
int only_for_the_host(int x) { if (x = 3) return 1; return 2; }
#endif
int main() { int unused_in_main; kernel<<<1, 1>>>(nullptr); }
"""


def test_each_message_is_shown_once_and_in_order(tmp_path):
    (tmp_path / "a.cu").write_text(MESSAGES)
    (tmp_path / "warns.h").write_text("inline int in_header() { int unused_in_header; return 0; }\n")
    result = nvcc("-c", "a.cu", "-Xcompiler", "-Wall", cwd=tmp_path)
    assert result.returncode == 0
    found = re.findall(r"warning: unused variable '(\w+)'", result.stderr)
    assert found == ["unused_in_header", "unused_in_kernel", "unused_in_main"]
    assert result.stderr.count("using the result of an assignment") == 1
    assert result.stderr.count("In file included from a.cu:2:") == 1
    assert "generated" not in result.stderr and "\033" not in result.stderr
    assert nvcc("-c", "a.cu", "-Xcompiler=-Wall", "-w", cwd=tmp_path).stderr == ""
    refused = nvcc("-c", "a.cu", "-o", "b.o", "-Xcompiler=-Wall", "-Werror", "all-warnings", cwd=tmp_path)
    assert refused.returncode == 1
    assert not (tmp_path / "b.o").exists()


def test_errors_end_both_passes_and_leave_nothing_behind(tmp_path):
    (tmp_path / "a.cu").write_text(
        "__global__ void kernel(int* x) { *x = undefined_1; }\nvoid f() { undefined_2(); }\nint main() {}\n"
    )
    (tmp_path / "b.cu").write_text(
        "#ifndef __CUDA_ARCH__\nint f() { return undefined_3; }\n#endif\nint main() {}\n"
    )
    (tmp_path / "temporary").mkdir()
    result = nvcc("-c", "a.cu", cwd=tmp_path, TMPDIR=str(tmp_path / "temporary"))
    assert result.returncode == 1
    assert re.findall(r"error: use of undeclared identifier '(\w+)'", result.stderr) == [
        "undefined_1",
        "undefined_2",
    ]
    result = nvcc("-c", "b.cu", cwd=tmp_path, TMPDIR=str(tmp_path / "temporary"))
    assert result.returncode == 1
    assert result.stderr.count("undefined_3") == 2  # the message and the line that it quotes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cu", "b.cu", "temporary"]
    assert not list((tmp_path / "temporary").iterdir())


def test_inline_ptx_is_checked_where_a_kernel_uses_it(tmp_path):
    (tmp_path / "a.cu").write_text(
        '__device__ void unused(int* x) { asm("nonsense.u32 %0, 3;" : "=r"(*x)); }\n'
        '__global__ void kernel(int* x) { asm volatile("mov.u32 %0, %%laneid;" : "=r"(*x)); }\n'
        "int main() { kernel<<<1, 1>>>(0); }\n"
    )
    assert nvcc("-c", "a.cu", cwd=tmp_path).stderr == ""
    (tmp_path / "a.cu").write_text(
        '__global__ void kernel(int* x) {\n    asm volatile("nonsense.u32 %0, 3;" : "=r"(*x));\n}\nint main() {}\n'
    )
    result = nvcc("-c", "a.cu", cwd=tmp_path)
    assert result.returncode == 1
    assert re.search(r"a\.cu:2:\d+: error: .*nonsense", result.stderr), result.stderr


SEVERAL = {
    "main.cu": """
#include <cstdio>
int from_cpp(); extern "C" int from_c(); int from_cu();
__global__ void kernel() { printf("kernel\\n"); }
int main(int count, char** arguments) {
    kernel<<<1, 1>>>();
    printf("%d %d %d %s\\n", from_cpp(), from_c(), from_cu(), count > 1 ? arguments[1] : "");
    return count > 1 ? 7 : 0;
}
""",
    "cpp.cpp": "#include <cuda_runtime_api.h>\nint from_cpp() { void* p; return cudaMalloc(&p, 4) == cudaSuccess; }\n",
    "c.c": "#include <cuda_runtime_api.h>\nint from_c(void) { int class = cudaSuccess; return class + 2; }\n",
    "cu.cu": """
#ifdef EXTRA
static __device__ int value = EXTRA;
static __global__ void kernel(int* x) { *x = value; }
int from_cu() {
    int *x, y = 0;
    cudaMalloc(&x, sizeof(int));
    kernel<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    return y;
}
#endif
""",
}


def test_several_sources_make_one_program(tmp_path):
    for name, text in SEVERAL.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "again").mkdir()
    result = nvcc("-run", "-DEXTRA=3", *SEVERAL, "-run-args", "word", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (7, "kernel\n1 2 3 word\n", "")
    assert not (tmp_path / "a.out").exists()
    assert nvcc("cpp.cpp", "cu.cu", "-shared", "-MMD", "-o", "liby.so", cwd=tmp_path).returncode == 0
    assert (tmp_path / "cu.d").read_text() == "cu.o: cu.cu\n"
    # Separately, with a library and with rules for make.
    assert nvcc("-c", "main.cu", "cpp.cpp", "-odir", "again", "-MMD", "-MP", cwd=tmp_path).returncode == 0
    assert (tmp_path / "again/main.d").read_text() == "again/main.o: main.cu\n"
    assert nvcc("-lib", "-DEXTRA=4", "cu.cu", "c.c", "-o", "libx.a", cwd=tmp_path).returncode == 0
    assert nvcc("again/main.o", "again/cpp.o", "-L.", "-lx", "-o", "program", cwd=tmp_path).returncode == 0
    assert run(tmp_path / "program").stdout == "kernel\n1 2 4 \n"


def test_preprocessed_text_rules_and_ptx_go_to_the_standard_output_or_a_file(tmp_path):
    (tmp_path / "a.cu").write_text('#include "a.h"\n__global__ void kernel(int* x) { *x = VALUE; }\n')
    (tmp_path / "a.h").write_text("#define VALUE 42\n")
    assert "*x = 42;" in nvcc("-E", "a.cu", cwd=tmp_path).stdout
    assert nvcc("-MM", "a.cu", cwd=tmp_path).stdout == "a.o : a.cu \\\n    a.h\n"
    (tmp_path / "a file.cu").write_text('#include "a.h"\n')
    rule = nvcc("-MM", "-MP", "-MT", "x", "a file.cu", cwd=tmp_path).stdout
    assert rule == "x : a\\ file.cu \\\n    a.h\na.h:\n"
    assert nvcc("-M", "-MT", "x y", "-MF", "rule", "a.cu", cwd=tmp_path).stdout == ""
    assert re.match(r"x y : a\.cu .*a\.h", (tmp_path / "rule").read_text().replace("\\\n", ""))
    assert nvcc("-ptx", "a.cu", "-arch=sm_80", cwd=tmp_path).returncode == 0
    text = (tmp_path / "a.ptx").read_text()
    assert ".target sm_80" in text and ".entry _Z6kernelPi" in text and "42" in text


PTX_WITH_HOST_CALLS = """
#include <cstdlib>
#include <vector>
int declared(int x);
int defined(int x) { return x + 1; }
template <class T> __host__ __device__ T f(T x) {
    if (x < 0) exit(1);
    if (x == 1) return declared(x);
    if (x == 2) return defined(x);
    std::vector<T>* none = nullptr;
    if (x == 3) none->push_back(x);
    return x * 21;
}
__global__ void kernel(int* x) { *x = f(*x); }
"""


def test_ptx_of_code_that_calls_host_functions_traps_there(tmp_path):
    (tmp_path / "a.cu").write_text(PTX_WITH_HOST_CALLS)
    result = nvcc("-ptx", "a.cu", "-arch=sm_80", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "a.cu:7:16: warning: calling the __host__ function 'exit'" in result.stderr
    text = (tmp_path / "a.ptx").read_text()
    assert ".target sm_80" in text and ".entry _Z6kernelPi" in text and "trap;" in text
    assert ".extern" not in text and "call" not in re.sub("//.*", "", text)
    assert nvcc("-ptx", "a.cu", "-w", cwd=tmp_path).stderr == ""
    assert nvcc("-ptx", "a.cu", "-Werror", "all-warnings", cwd=tmp_path).returncode != 0
    (tmp_path / "b.cu").write_text("int host(); __global__ void kernel(int* x) { *x = host(); }\n")
    refused = nvcc("-ptx", "b.cu", cwd=tmp_path)
    assert refused.returncode != 0 and "no matching function for call to 'host'" in refused.stderr


OPENMP = """
#include <cstdio>
#include <omp.h>
__global__ void kernel() {}
int main() {
    int sum = 0, threads = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp for schedule(dynamic, 3) reduction(+ : sum)
        for (int i = 0; i < 100; ++i) sum += i;
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
    printf("%d %d\\n", sum, threads);
}
"""


def test_openmp(tmp_path):
    (tmp_path / "a.cu").write_text(OPENMP)
    assert nvcc("-c", "-Xcompiler", "-fopenmp", "a.cu", cwd=tmp_path).returncode == 0
    result = nvcc("-Xcompiler=-fopenmp", "a.o", "-lgomp", "-o", "program", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert run(tmp_path / "program").stdout == "4950 3\n"


def test_openmp_linked_by_a_host_compiler(tmp_path):
    """g++ -fopenmp links libgomp; what clang has compiled brings libomp, for all code of the program."""
    (tmp_path / "a.cu").write_text(OPENMP)
    (tmp_path / "b.cpp").write_text(
        "#include <omp.h>\nint team() { int n = 0;\n#pragma omp parallel num_threads(2)\n"
        "#pragma omp critical\n n += omp_get_num_threads();\n return n; }\n"
    )
    (tmp_path / "plain.cu").write_text("__global__ void kernel() {}\nint main() { kernel<<<1, 1>>>(); }\n")
    assert nvcc("-c", "-Xcompiler", "-fopenmp", "a.cu", "plain.cu", cwd=tmp_path).returncode == 0
    folder = TOOLKIT / "lib64"
    needed = {}
    for name in ("a", "plain"):
        link = [
            "g++",
            "-fopenmp",
            "b.cpp",
            f"{name}.o",
            f"-L{folder}",
            f"-Wl,-rpath,{folder}",
            "-lcudart",
            "-o",
            name,
        ]
        subprocess.run(link, cwd=tmp_path, check=True, timeout=300)
        dynamic = subprocess.run(["readelf", "-d", name], cwd=tmp_path, capture_output=True, text=True).stdout
        needed[name] = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert run(tmp_path / "a").stdout == "4950 3\n"
    assert "libomp.so.5" in needed["a"] and "libomp.so.5" not in needed["plain"]


def test_options_of_gcc_that_clang_lacks_do_no_harm(tmp_path):
    (tmp_path / "a.cu").write_text("__global__ void kernel() {}\nint main() { return 0; }\n")
    words = "-Wall,-O3,-march=native,-fPIC,-pthread,-fno-gcse,-fno-lifetime-dse,-Wno-maybe-uninitialized,-fgcse-las"
    result = nvcc("-c", "-Xcompiler", words, "a.cu", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_no_installed_toolkit_is_read(tmp_path):
    # A toolkit as in /usr/local/cuda: our own headers come first, and its folder is left out.
    installed = tmp_path / "installed"
    (installed / "crt").mkdir(parents=True)
    for name in (
        "cuda_runtime.h",
        "cuda_runtime_api.h",
        "cuda_fp16.h",
        "vector_types.h",
        "crt/host_defines.h",
    ):
        (installed / name).write_text("#error the installed toolkit was read\n")
    (installed / "cudaX.h").write_text("#define CUDA_X\n")
    (tmp_path / "a.cu").write_text("#include <cuda_runtime.h>\n#include <vector_types.h>\nint main() {}\n")
    (tmp_path / "b.cpp").write_text("#include <cuda_runtime_api.h>\n")
    for source in ("a.cu", "b.cpp"):
        result = nvcc(
            "-c", source, "-I", "installed", "-isystem", "installed", cwd=tmp_path, CPATH=str(installed)
        )
        assert (result.returncode, result.stderr) == (0, "")
    # What only it has is refused, however it came there.
    (tmp_path / "a.cu").write_text('#include "installed/cudaX.h"\nint main() {}\n')
    result = nvcc("-c", "a.cu", cwd=tmp_path)
    assert result.returncode == 1
    assert "cudaX.h' belongs to an installed CUDA toolkit" in result.stderr


def test_ptx_has_libdevice_inside_or_says_what_is_missing(tmp_path):
    (tmp_path / "a.cu").write_text("__global__ void kernel(float* x) { *x = sinf(*x) + tgammaf(*x); }\n")
    (tmp_path / "empty").mkdir()
    assert "no libdevice.10.bc in 'empty'" in nvcc("-ptx", "a.cu", "-ldir", "empty", cwd=tmp_path).stderr
    result = nvcc("-ptx", "a.cu", cwd=tmp_path)
    assert result.returncode == 0
    missing = re.findall(r"\.extern \.func[^;]*?(__nv_\w+)", (tmp_path / "a.ptx").read_text())
    if missing:
        assert (
            "a.ptx calls functions of NVIDIA's libdevice, which was not found: __nv_sinf, __nv_tgammaf;"
            in result.stderr
        )
    else:
        assert result.stderr == ""


def test_keep_leaves_intermediate_files(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "a.cu").write_text("__global__ void kernel() {}\nint main() {}\n")
    result = nvcc("a.cu", "--keep", "--keep-dir", "kept", "-v", cwd=tmp_path)
    assert result.returncode == 0
    assert result.stderr.count("\n#$ ") >= 10
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        "a.device.bc",
        "a.device.bc.d",
        "a.fatbin",
        "a.o",
    }
    assert nvcc("a.cu", "-clean", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "a.out").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_passes_and_removes_temporary_files(tmp_path, number):
    # Takes clang long: many instantiations.
    (tmp_path / "a.cu").write_text(
        "template <int N> struct S { static constexpr int v = S<N - 1>::v + 1; };\n"
        "template <> struct S<0> { static constexpr int v = 0; };\n"
        "constexpr int f(long n) { int x = 0; for (long i = 0; i < n; ++i) x ^= i; return x; }\n"
        "constexpr int y = f(40000000);\nint main() {}\n"
    )
    folder = tmp_path / "temporary"
    folder.mkdir()
    process = subprocess.Popen(
        [NVCC, "-c", "a.cu", "-Xcompiler", "-fconstexpr-steps=2000000000"],
        cwd=tmp_path,
        env=environment(TMPDIR=str(folder)),
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 20
    while not list(folder.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(number)
    assert process.wait(20) == -number
    process.stderr.close()
    assert not list(folder.iterdir())
    assert not (tmp_path / "a.o").exists()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nothing that it started runs


DIALECT = """
#include <bits/stdc++.h>
#include <cinttypes>
template <typename F> __global__ void apply(F f, int n) {
    register int i = threadIdx.x;
#pragma unroll (4)
    for (int k = 0; k < 4; ++k)
        if (i < n) f(i);
}
template <typename T> __host__ __device__ void calls_a_host_function(T) { exit(1); }
const float factor = 2.5f;
__global__ void variadic(long long v) { printf("%lld %u %f\\n", v, threadIdx.x, factor); }
int main() {
    int n = 32;
    float variable_length[n];
    dim3 grid{n / 32}, block = {n, 1};
    apply<<<grid, block>>>([=] __device__(int i) { assert(i < n); }, n);
    variadic<<<1, 1>>>(INT64_MAX);
    printf("%"PRIu64"%f\\n", uint64_t{3}, variable_length[0]);
    std::thread([] {}).join();
    calls_a_host_function(3);
}
"""


def test_default_stream_per_thread(tmp_path):
    (tmp_path / "a.cu").write_text(
        "__global__ void k() {}\nint main() { k<<<1, 1>>>(); return cudaGetLastError(); }\n"
    )
    result = nvcc("-run", "--default-stream", "per-thread", "a.cu", "-keep", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert b"cudaLaunchKernel_ptsz" in (tmp_path / "a.o").read_bytes()


def test_what_nvcc_accepts_is_no_error(tmp_path):
    (tmp_path / "a.cu").write_text(DIALECT)
    result = nvcc("-c", "a.cu", "-std=c++17", "--extended-lambda", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert set(re.findall(r"\[-W([\w+-]+)\]", result.stderr)) == {
        "c++11-narrowing",
        "register",
        "reserved-user-defined-literal",
    }
