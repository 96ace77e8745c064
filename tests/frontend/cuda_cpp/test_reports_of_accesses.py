"""What is said of accesses that C++ makes in its own ways: whole objects at once, dynamic shared memory."""

from __future__ import annotations

import re

import pytest
from cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAM = """
#include <cstdio>
#include <cstring>
struct Pair { int a; double b; };
__global__ void copy(char* from, float4* to) { *to = *(float4*)(from + 4); }
__global__ void read_members(char* from, float* to) {
    float4 v = *(float4*)(from + 8);
    *to = v.x + v.y + v.z + v.w;
}
__global__ void write_pair(char* to) { *(float2*)(to + 4) = make_float2(1, 2); }
__global__ void copy_structure(char* from, Pair* to) { *to = *(Pair*)(from + 4); }
__global__ void copy_bytes(char* from, char* to) {
    float4 v;
    memcpy(&v, from + 4, sizeof v);
    memcpy(to + 1, &v, sizeof v);
    *(float4*)(to + 32) = *(float4*)(from + 16);
}
__global__ void dynamic(int* x) {
    extern __shared__ int buffer[];
    buffer[threadIdx.x] = 1;
    *x = buffer[0];
}
__global__ void dynamic_and_static(int* x) {
    extern __shared__ int buffer[];
    __shared__ int other[4];
    other[threadIdx.x & 3] = 2;
    *x = buffer[threadIdx.x] + other[0];
}
__global__ void much_static(int* x) {
    __shared__ int all[20000];
    all[threadIdx.x] = 1;
    *x = all[0];
}
int main(int, char** arguments) {
    char *x, *y;
    cudaMalloc(&x, 256);
    cudaMalloc(&y, 256);
    cudaMemset(x, 0, 256);
    const char* kernel = arguments[1];
    if (!strcmp(kernel, "copy")) copy<<<1, 1>>>(x, (float4*)y);
    if (!strcmp(kernel, "read_members")) read_members<<<1, 1>>>(x, (float*)y);
    if (!strcmp(kernel, "write_pair")) write_pair<<<1, 1>>>(x);
    if (!strcmp(kernel, "copy_structure")) copy_structure<<<1, 1>>>(x, (Pair*)y);
    if (!strcmp(kernel, "copy_bytes")) copy_bytes<<<1, 1>>>(x, y);
    if (!strcmp(kernel, "dynamic")) dynamic<<<1, 32>>>((int*)x);
    if (!strcmp(kernel, "dynamic_and_static")) dynamic_and_static<<<1, 32>>>((int*)x);
    if (!strcmp(kernel, "enough")) dynamic<<<1, 32, 32 * sizeof(int)>>>((int*)x);
    if (!strcmp(kernel, "much_static")) much_static<<<1, 32>>>((int*)x);
    cudaError_t launched = cudaGetLastError();
    printf("%s %s\\n", cudaGetErrorName(launched), cudaGetErrorName(cudaDeviceSynchronize()));
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAM, tmp_path_factory.mktemp("accesses"))


@pytest.mark.parametrize(
    ("kernel", "multiple"), [("copy", 16), ("read_members", 16), ("write_pair", 8), ("copy_structure", 8)]
)
def test_a_whole_object_at_an_address_that_it_cannot_have(program, kernel, multiple):
    result = run(program, kernel)
    assert result.stdout == "cudaSuccess cudaErrorMisalignedAddress\n"
    assert "misaligned-access: misaligned address 0x20" in result.stderr
    assert f"(needs a multiple of {multiple})" in result.stderr
    assert "of global memory 'x (cudaMalloc at program.cu:" in result.stderr
    assert result.returncode == 1


@pytest.mark.parametrize("kernel", ["copy_bytes", "enough"])
def test_bytes_may_lie_anywhere_and_memory_that_was_asked_for_is_there(program, kernel):
    result = run(program, kernel)
    assert (result.stdout, result.stderr, result.returncode) == ("cudaSuccess cudaSuccess\n", "", 0)


@pytest.mark.parametrize("kernel", ["dynamic", "dynamic_and_static"])
def test_dynamic_shared_memory_that_the_launch_does_not_give(program, kernel):
    result = run(program, kernel)
    assert result.stdout == "cudaSuccess cudaErrorIllegalAddress\n"
    assert "out-of-bounds-shared: " in result.stderr
    assert (
        "of shared memory 'buffer' of 0 bytes: the launch gives the kernel no dynamic shared memory"
        in result.stderr
    )
    assert "and in 31 other threads" in result.stderr


def test_more_shared_variables_than_a_kernel_may_have(program):
    result = run(program, "much_static")
    assert result.stdout == "cudaErrorInvalidValue cudaSuccess\n"
    assert "much_static(int*) is not launched at program.cu:" in result.stderr
    assert "80000 bytes of __shared__ variables, and a kernel may have 49152" in result.stderr


LOCALS = """
__device__ int* kept;
__global__ void of_an_ended_thread(int* out) {
    int own = out[threadIdx.x];
    if (threadIdx.x == 0) kept = &own;
    __threadfence();
    __syncwarp();
    if (threadIdx.x == 5) out[5] = *(volatile int*)kept + 1;  // of_an_ended_thread
}
struct Weights { float each[8]; int count; };
__global__ void parameter(Weights w, float* out) {
    float sum = 0;
    for (int i = 0; i < w.count; ++i) sum += w.each[i + (threadIdx.x == 5)];  // parameter
    out[threadIdx.x] = sum;
}
int main(int, char** arguments) {
    int* x;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    Weights weights = {{1, 2}, 9};
    switch (arguments[1][0]) {
        case 'o': of_an_ended_thread<<<1, 32>>>(x); break;
        case 'p': parameter<<<1, 32>>>(weights, (float*)x); break;
    }
    cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("of_an_ended_thread", "access to a local variable of another thread"),
        ("parameter", "access to local memory outside of the thread's local arrays and parameters"),
    ],
)
@pytest.mark.parametrize("options", [("-O2",), ("-G",)], ids=str)
def test_what_other_threads_have_and_what_lies_behind_a_parameter_is_no_local_memory(
    tmp_path, kernel, told, options
):
    report = run(compiled(LOCALS, tmp_path, *options), kernel).stderr
    line = next(i for i, text in enumerate(LOCALS.splitlines(), 1) if f"// {kernel}" in text)
    assert f"error: out-of-bounds-local: {told}" in report
    assert "at tid=[5, 0, 0] ctaid=[0, 0, 0]" in report and f"program.cu:{line}:" in report


MEMBERS = """
struct Point { float x, y, z; };
__global__ void reads(Point* p, float* sum) {
    *sum += p[1].x;
    *sum += p[21].x;
    *sum += p[21].y;  // reads
    *sum += p[21].z;
}
__global__ void reads_together(Point* p, float* sum) {
    Point last = p[threadIdx.x];  // reads_together
    float4 all = {
        last.x,
        last.y,
        last.z, 0};
    *sum = all.x + all.y * all.z;
}
__global__ void writes(Point* p, float* sum) {
    p[threadIdx.x].x = 1,
    p[threadIdx.x].y = 2,  // writes
    p[threadIdx.x].z = 3;
    *sum = 1;
}
__global__ void backwards(Point* p, float* sum) {
    float* q = &p[threadIdx.x].x;
    float third = q[2],  // backwards
          second = q[1];
    *sum = third - second * q[0];
}
int main(int argc, char** arguments) {
    Point* p;
    float* sum;
    cudaMalloc(&p, 256);
    cudaMalloc(&sum, 4);
    cudaMemset(p, 0, 256);
    cudaMemset(sum, 0, 4);
    int threads = argc > 2 ? 21 : 22;  // the last one's x is the last float
    switch (arguments[1][0] + arguments[1][5]) {
        case 'r' + 0: reads<<<1, 1>>>(p, sum); break;
        case 'r' + '_': reads_together<<<1, threads>>>(p, sum); break;
        case 'w' + 's': writes<<<1, threads>>>(p, sum); break;
        case 'b' + 'a': backwards<<<1, threads>>>(p, sum); break;
    }
    cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize("kernel", ["reads", "reads_together", "writes", "backwards"])
@pytest.mark.parametrize("options", [("-O2",), ("-O3", "-g"), ("-G",)], ids=str)
def test_members_that_are_looked_at_together_are_told_each_at_its_line(tmp_path, kernel, options):
    program = compiled(MEMBERS, tmp_path, *options)
    report = run(program, kernel).stderr
    line = next(i for i, text in enumerate(MEMBERS.splitlines(), 1) if text.endswith(f"// {kernel}"))
    offset = 260 if kernel == "backwards" else 256
    how = "write" if kernel == "writes" else "read"
    assert (
        f"error: out-of-bounds-global: {how} of 4 bytes starting {offset - 256} bytes behind the end of"
        in report
    )
    assert f"program.cu:{line}:" in report.partition("\n    ")[0]
    if kernel != "reads":
        assert "at tid=[21, 0, 0]" in report
        assert run(program, kernel, "fewer").stderr == ""


IN_HEADERS = """
#include <cassert>
#include <cooperative_groups.h>
#include <cuda_fp16.h>
__global__ void read_only(int* x) { x[0] = __ldg(x + 100); }  // read_only
__global__ void bytes(int* x) { memcpy(x, x + 100, 16); }  // bytes
__global__ void short_float(int* x) { *(__half*)x = __hadd(*(__half*)x, __ldcg((__half*)x + 200)); }  // short_float
__global__ void votes(int* x) { if (threadIdx.x) __syncthreads_or(*x); else __syncthreads_and(1); }  // votes
__global__ void asserts(int* x) { assert(x == nullptr); }  // asserts
__global__ void deletes(int*) { int* p = new int; delete p; delete p; }  // deletes
int main(int, char** arguments) {
    int* x;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    switch (arguments[1][0]) {
        case 'r': read_only<<<1, 2>>>(x); break;
        case 'b': bytes<<<1, 2>>>(x); break;
        case 's': short_float<<<1, 2>>>(x); break;
        case 'v': votes<<<1, 2>>>(x); break;
        case 'a': asserts<<<1, 2>>>(x); break;
        case 'd': deletes<<<1, 2>>>(x); break;
    }
    cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module", params=[(), ("-G",)], ids=["optimised", "-G"])
def in_headers(request, tmp_path_factory):
    return compiled(IN_HEADERS, tmp_path_factory.mktemp("in_headers"), *request.param)


@pytest.mark.parametrize("kernel", ["read_only", "bytes", "short_float", "votes", "asserts", "deletes"])
def test_what_a_function_of_the_headers_does_is_told_at_the_line_that_calls_it(in_headers, kernel):
    (line,) = (
        number for number, text in enumerate(IN_HEADERS.splitlines(), 1) if text.endswith(f"// {kernel}")
    )
    told = run(in_headers, kernel).stderr.splitlines()
    places = [text.strip() for text in told if re.match(r"  (called from )?/", text)]
    assert places and places[0].partition(":")[2].startswith(f"{line}:"), told
    assert not any(".h:" in text for text in told), told
