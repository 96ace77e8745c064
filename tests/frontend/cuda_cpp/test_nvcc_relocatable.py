"""Relocatable device code: functions and variables of other files, names that several files have."""

from __future__ import annotations

import subprocess

from cuda_programs import TOOLKIT, needs_clang, nvcc, run

pytestmark = needs_clang

FIRST = """
#include <cstdio>
extern __device__ int offset;
__device__ int plus_offset(int);
template <typename T> __device__ T twice(T x) { return 2 * x; }
static __device__ int mine = 5;
namespace { __constant__ int hidden = 100; }
static __global__ void kernel(int* x) { *x = plus_offset(twice(1)) + mine + hidden; }
// clang notes that host code may use threadIdx, which nobody defines.
__host__ __device__ int number() {
#ifdef __CUDA_ARCH__
    return threadIdx.x;
#else
    return 0;
#endif
}
template <int N> __global__ void of_a_template(int* x) { *x = N + number(); }
struct Launcher {
    void launch(int* x) {
        int blocks = 0;
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, of_a_template<9>, 32, 0);
        if (blocks > 0) of_a_template<9><<<1, 1>>>(x);
    }
};
int second();
__global__ void kernel_of_the_other_file(int* x);
int main() {
    int *x, y = 0, z = 50;
    cudaMalloc(&x, sizeof(int));
    kernel<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d\\n", y, second());
    cudaMemcpyToSymbol(mine, &z, sizeof z);    // this file's
    cudaMemcpyToSymbol(offset, &z, sizeof z);  // the other file's
    kernel<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d\\n", y, second());
    kernel_of_the_other_file<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\\n", y);
    Launcher{}.launch(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\\n", y);
}
"""
SECOND = """
__device__ int offset = 40;
__device__ int plus_offset(int x) { return x + offset; }
template <typename T> __device__ T twice(T x) { return 2 * x; }
static __device__ int mine = 7;
namespace { __constant__ int hidden = 200; }
static __global__ void kernel(int* x) { *x = plus_offset(twice(1)) + mine + hidden; }
__global__ void kernel_of_the_other_file(int* x) { *x = 8; }
int second() {
    int *x, y = 0;
    cudaMalloc(&x, sizeof(int));
    kernel<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    return y;
}
"""


def test_files_share_what_is_external_and_keep_what_is_not(tmp_path):
    # The same name in two folders: clang makes names of parts of the objects of it.
    for folder, text in (("one", FIRST), ("two", SECOND)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "code.cu").write_text(text)
        result = nvcc("-dc", "code.cu", cwd=tmp_path / folder)
        assert (result.returncode, result.stderr) == (0, "")
    result = nvcc("-arch=sm_75", "one/code.o", "two/code.o", "-o", "program", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    done = run(tmp_path / "program")
    assert (done.stdout, done.stderr) == ("147 249\n202 259\n8\n9\n", "")


def test_whole_programs_keep_their_names_apart_too(tmp_path):
    (tmp_path / "a.cu").write_text(
        FIRST.replace("extern __device__ int offset;", "static __device__ int offset = 40;").replace(
            "__device__ int plus_offset(int);", "__device__ int plus_offset(int x) { return x + offset; }"
        )
    )
    (tmp_path / "b.cu").write_text(SECOND)
    result = nvcc("a.cu", "b.cu", "-o", "program", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    done = run(tmp_path / "program")
    assert (done.stdout, done.stderr) == ("147 249\n202 249\n8\n9\n", "")


USER = """
#include <cstdio>
__device__ int one_of_the_archive(int);
typedef int (*Function)(int);
__device__ Function pointer = one_of_the_archive;
int of_the_archive(int);
__global__ void kernel(int* x) { *x = one_of_the_archive(*x); }
int main() {
    int *x, y = 1;
    cudaMalloc(&x, sizeof(int));
    cudaMemcpy(x, &y, sizeof(int), cudaMemcpyHostToDevice);
    kernel<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d\\n", y, of_the_archive(y));
}
"""
# None of the first, second and fourth has anything that host code names.
MEMBERS = {
    "one": "__device__ int two_of_the_archive(int); __device__ int one_of_the_archive(int x) "
    "{ return 10 * two_of_the_archive(x); }",
    "two": "__device__ int two_of_the_archive(int x) { return x + 1; }",
    "host": "__device__ int three_of_the_archive(int); __global__ void add(int* x) { *x = three_of_the_archive(*x); }\n"
    "int of_the_archive(int y) { int* x; cudaMallocManaged(&x, 4); *x = y; add<<<1, 1>>>(x); "
    "cudaDeviceSynchronize(); return *x; }",
    "three": "__device__ int three_of_the_archive(int x) { return x + 100; }",
    "unused": "int missing(); __device__ int four_of_the_archive(int x) { return x; } int host() { return missing(); }",
}


def test_members_of_archives_are_linked_for_their_device_code(tmp_path):
    (tmp_path / "user.cu").write_text(USER)
    for name, text in MEMBERS.items():
        (tmp_path / f"{name}.cu").write_text(text)
    names = [f"{name}.cu" for name in MEMBERS]
    assert nvcc("-dc", "user.cu", *names, cwd=tmp_path).returncode == 0
    objects = [f"{name}.o" for name in MEMBERS]
    assert nvcc("-lib", "-o", "libmembers.a", *objects, cwd=tmp_path).returncode == 0
    for number, link in enumerate((("libmembers.a",), ("-L.", "-lmembers"))):
        result = nvcc("-o", f"program{number}", "user.o", *link, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert run(tmp_path / f"program{number}").stdout == "20 120\n"
    # Who links by himself needs what the device link makes, and nvcc can be told that it is there.
    without = nvcc("-nodlink", "-o", "program2", "user.o", "libmembers.a", cwd=tmp_path)
    assert without.returncode != 0
    assert "undefined reference to `__cudaRegisterLinkedBinary_" in without.stderr
    assert nvcc("-dlink", "-o", "link.o", "user.o", "libmembers.a", cwd=tmp_path).returncode == 0
    with_it = nvcc("-nodlink", "-o", "program2", "user.o", "link.o", "libmembers.a", cwd=tmp_path)
    assert (with_it.returncode, with_it.stderr) == (0, "")
    assert run(tmp_path / "program2").stdout == "20 120\n"
    libraries = TOOLKIT / "lib64"
    subprocess.run(
        ["g++", "-o", "linked", "user.o", "link.o", "libmembers.a"]
        + [f"-L{libraries}", "-lcudart", f"-Wl,-rpath,{libraries}"],
        cwd=tmp_path,
        check=True,
        timeout=60,
    )
    assert run(tmp_path / "linked").stdout == "20 120\n"


def test_classes_with_pure_virtual_functions_may_be_of_another_file(tmp_path):
    (tmp_path / "shape.h").write_text(
        "struct Shape {\n"
        "    __device__ virtual int area() const = 0;\n"
        "    __device__ virtual ~Shape() {}\n"
        "};\n"
        "__device__ Shape* square(int side);\n"
    )
    (tmp_path / "square.cu").write_text(
        '#include "shape.h"\n'
        "struct Square : Shape {\n"
        "    int side;\n"
        "    __device__ explicit Square(int s) : side(s) {}\n"
        "    __device__ int area() const override { return side * side; }\n"
        "};\n"
        "__device__ Shape* square(int side) { return new Square(side); }\n"
    )
    (tmp_path / "main.cu").write_text(
        '#include <cstdio>\n#include "shape.h"\n'
        "__global__ void kernel(int* x) { Shape* shape = square(*x); *x = shape->area(); delete shape; }\n"
        "int main() {\n"
        "    int *x, y = 7;\n"
        "    cudaMalloc(&x, sizeof y);\n"
        "    cudaMemcpy(x, &y, sizeof y, cudaMemcpyHostToDevice);\n"
        "    kernel<<<1, 1>>>(x);\n"
        "    cudaMemcpy(&y, x, sizeof y, cudaMemcpyDeviceToHost);\n"
        '    printf("%d\\n", y);\n'
        "}\n"
    )
    for options in ((), ("-G",)):
        result = nvcc("-rdc=true", *options, "square.cu", "main.cu", "-o", "program", cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        done = run(tmp_path / "program")
        assert (done.stdout, done.stderr) == ("49\n", "")
