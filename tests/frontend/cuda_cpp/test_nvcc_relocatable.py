"""Relocatable device code: functions and variables of other files, names that several files have."""

from __future__ import annotations

from cuda_programs import needs_clang, nvcc, run

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
