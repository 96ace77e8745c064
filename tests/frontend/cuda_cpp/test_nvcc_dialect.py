"""What nvcc accepts and clang by itself does not: percent signs of inline PTX, host functions in code of both sides, standards."""

from __future__ import annotations

import re

import pytest
from cuda_programs import compiled, needs_clang, nvcc, output_of, run

pytestmark = needs_clang

SIGNS_HEADER = r"""
#define SPECIAL(name, variable) asm volatile("mov.u32 %0, %" #name ";" : "=r"(variable))
#define LANE(variable) asm("mov.u32 %0,%laneid;" : "=r"(variable))
static __device__ unsigned sum_of_two() {
    unsigned sum;
    asm("{\n\t.reg .u32 t;\n\tmov.u32 t,%laneid;\n\t"
        "add.u32 %0, t,%tid.x;\n\t}" : "=r"(sum)); int unused_in_header;
    return sum;
}
"""
SIGNS = r"""
#include <cstdio>
#include "folder/signs.h"
template <typename T> __device__ T clocks() {
    T before, after;
	asm volatile("mov.u64 %0,%clock64;" : "=l"(before)); int unused_behind_a_tab;
    asm volatile(R"(mov.u64 %0,%%clock64;
                    // %laneid)" : "=l"(after));
    return after - before;
}
__global__ void kernel(unsigned* x) {
    unsigned lane, thread, warps;
    LANE(lane);
    SPECIAL(tid.x, thread);
    asm("mov.u32 %0, %nwarpid;" : "=r"(warps));
    if (threadIdx.x != 37) return;
    x[0] = lane, x[1] = thread, x[2] = sum_of_two(), x[3] = clocks<long long>() >= 0, x[4] = warps > 0;
    x[1000] = 1;
}
int main() {
    unsigned* x;
    cudaMallocManaged(&x, 20);
    kernel<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    for (int i = 0; i < 5; ++i) printf("%u ", x[i]);
}
"""


@pytest.fixture
def signs(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/signs.h").write_text(SIGNS_HEADER)
    (tmp_path / "signs.cu").write_text(SIGNS)
    return tmp_path


def test_single_percent_signs_before_names_of_ptx(signs):
    assert nvcc("signs.cu", "-o", "program", cwd=signs).stderr == ""
    result = run(signs / "program")
    assert result.stdout.startswith("5 37 42 1 1")
    # Reports name the user's files and quote them.
    place = next(i + 1 for i, line in enumerate(SIGNS.splitlines()) if "x[1000]" in line)
    assert f"signs.cu:{place}:13, in kernel" in result.stderr
    assert f"{place} |     x[1000] = 1;" in result.stderr
    assert nvcc("-ptx", "signs.cu", cwd=signs).stderr == ""
    text = (signs / "signs.ptx").read_text()
    assert "%clock64;" in text and "%%" not in text


def test_messages_about_files_with_single_percent_signs(signs):
    result = nvcc("-c", "signs.cu", "-Xcompiler", "-Wunused-variable", cwd=signs)
    messages = result.stderr
    assert result.returncode == 0, messages
    for name, file, text in (
        ("unused_in_header", "./folder/signs.h", SIGNS_HEADER),
        ("unused_behind_a_tab", "signs.cu", SIGNS),
    ):
        lines = text.splitlines()
        number = next(i for i, line in enumerate(lines) if name in line)
        column = lines[number].index(name)
        assert f"{file}:{number + 1}:{column + 1}: warning: unused variable '{name}'" in messages
        assert messages.count(f"unused variable '{name}'") == 1  # both passes say the same
        quoted, marks = messages.split(f"unused variable '{name}'")[1].splitlines()[1:3]
        assert quoted.split(" | ")[1] == lines[number].expandtabs(8)
        assert marks.index("^") == quoted.index(name)
    assert not list(signs.glob("*patched*"))


def test_percent_signs_that_nvcc_refuses_are_refused(tmp_path):
    (tmp_path / "a.cu").write_text(
        '__global__ void kernel(int* x) {\n    asm("mov.u32 %0, %smid; mov.u32 %r7, 1;" : "=r"(*x));\n}\nint main() {}\n'
    )
    result = nvcc("-c", "a.cu", cwd=tmp_path)
    assert result.returncode == 1
    assert re.search(r"a\.cu:2:\d+: error: invalid operand number in inline asm string", result.stderr)
    assert '|     asm("mov.u32 %0, %smid; mov.u32 %r7, 1;"' in result.stderr


ALIGNAS = """#define ROWS(type) __shared__ alignas(type) unsigned char rows[2 * sizeof(type)]
#define SAME(x) x
typedef unsigned char byte;
template <typename T>
__global__ void kernel(int* x) {
    __shared__ char one; extern __shared__ alignas(128) char any[]; __shared__ alignas(64) char more[3]; int unused;
    ROWS(T); __shared__ alignas(128) byte named[7]; SAME(__shared__ alignas(64) T other;)
    x[0] = reinterpret_cast<unsigned long>(named) % 128 + reinterpret_cast<unsigned long>(&other) % 64;
    one = more[0] = any[0] = rows[0] = 1;
    x[0] += reinterpret_cast<unsigned long>(any) % 128 + reinterpret_cast<unsigned long>(more) % 64;
    x[1] = reinterpret_cast<unsigned long>(rows) % alignof(T) + sizeof rows + one;
}
struct alignas(32) Wide {
    float x[8];
};
int main() {
    int* x;
    cudaMallocManaged(&x, 8);
    kernel<Wide><<<1, 1, 128>>>(x);
    return cudaDeviceSynchronize() == cudaSuccess && x[0] == 0 && x[1] == 65 ? 0 : 1;
}
"""


def test_alignas_behind_shared(tmp_path):
    (tmp_path / "a.cu").write_text(ALIGNAS)
    built = nvcc("a.cu", "-o", "program", "-Xcompiler", "-Wunused-variable", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    line = ALIGNAS.splitlines()[5]
    assert f"a.cu:6:{line.index('unused') + 1}: warning: unused variable 'unused'" in built.stderr
    assert f"6 | {line}\n" in built.stderr
    assert run(tmp_path / "program").returncode == 0


def test_a_missing_header_is_told_alone(tmp_path):
    (tmp_path / "a.cu").write_text(
        "#include <thrust/device_vector.h>\nint main() { thrust::device_vector<int> x(3); return x.size(); }\n"
    )
    result = nvcc("-c", "a.cu", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.count("error: ") == 1
    assert "thrust/device_vector.h is not part of cudasim (yet)" in result.stderr


HOST_CALLS = r"""
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>
int host_only(int x) { return x + 1; }
int host_variable = 3;
__host__ __device__ int plain(int x) { return host_only(x); }
#define BOTH __host__ __device__
namespace names {
struct Holder {
    std::vector<int> values;
    BOTH Holder() {}
    BOTH ~Holder() { values.clear(); }
    BOTH int size() const;
    Holder& operator=(const Holder&) = default;
};
BOTH int Holder::size() const { return static_cast<int>(values.size()) + host_variable; }
BOTH void assign(Holder& to, const Holder& from)
{ // {
    to = from;
}
}  // namespace names
template <typename T> BOTH T call(T f) { f(2); return f; }
extern "C" BOTH int with_text(int x) { std::string text = "{"; text += "a"; return static_cast<int>(text.size()) + x; }
BOTH char* variable() { auto made = std::make_unique<int>(3); return *made == 3 ? getenv("HOME") : nullptr; }
struct Base {
    BOTH virtual int f() const { return 1; }
    BOTH virtual ~Base() {}
};
struct Derived : Base {
    BOTH int f() const override { return host_only(2); }
};
auto lambda = [] BOTH(int x) { return host_only(x); };
__host__ __device__ int used_by_the_kernel(int x) { return 2 * x; }
__global__ void kernel(int* x) { *x = used_by_the_kernel(*x); }
__host__ void launch(int* x) {
    auto add = [=] __device__(int y) { return y + 1; };
    (void)add;
    kernel<<<1, 1>>>(x);
}
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    *x = 21;
    launch(x);
    cudaDeviceSynchronize();
    names::Holder a, b;
    b.values = {1, 2};
    names::assign(a, b);
    Derived derived;
    printf("%d %d %d %d %d %d %d\n", *x, plain(1), a.size(), with_text(1), derived.f(), lambda(4), variable() != nullptr);
    call([](int y) { return host_only(y); });
}
"""


def test_functions_of_both_sides_may_call_host_functions_as_long_as_no_kernel_needs_them(tmp_path):
    assert output_of(HOST_CALLS, tmp_path, "--extended-lambda", "-Xcompiler", "-Wall") == "42 2 5 3 3 5 1\n"


OLD = r"""
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
template <typename T> __global__ void add(T* a, const T* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += b[i] + max(1, 2);
}
struct Functor { __host__ __device__ float operator()(float x) const throw() { return x * 2; } };
int main() {
    std::vector<std::vector<int> > nested(2);
    float *x, y[2] = {1, 2};
    cudaMalloc(&x, 8);
    cudaMemcpy(x, y, 8, cudaMemcpyHostToDevice);
    dim3 grid(1), block(2, 1);
    add<<<grid, block>>>(x, x, 2);
    cudaMemcpy(y, x, 8, cudaMemcpyDeviceToHost);
    printf("%g %g %d\n", y[0], Functor()(y[1]), (int)nested.size());
}
"""
OLD_HOST = """
#include <cuda_runtime.h>
#include <cuComplex.h>
int main() {
    dim3 extents(1, 2), other = extents;
    float* x;
    return cudaMalloc(&x, 4) != cudaSuccess || other.y != 2;
}
"""


@pytest.mark.parametrize("standard", ["c++03", "c++11", "c++14", "c++20"])
def test_standards(tmp_path, standard):
    assert output_of(OLD, tmp_path, "-std", standard) == "4 12 2\n"
    (tmp_path / "host.cpp").write_text(OLD_HOST)
    for compiler in ("g++", "clang++-19"):
        options = ["-std", standard, "-ccbin", compiler, "-Xcompiler", "-Wall"]
        result = nvcc("host.cpp", "-o", "host", *options, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        assert run(tmp_path / "host").returncode == 0


ALLOCA = r"""
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
__device__ __noinline__ int sum(int n) {
    int* values = static_cast<int*>(alloca(n * sizeof(int)));
    for (int i = 0; i < n; ++i) values[i] = i;
    int total = 0;
    for (int i = 0; i < n; ++i) total += values[i];
    return total;
}
__global__ void kernel(int n, int* out) {
    int* values = static_cast<int*>(alloca(n * sizeof(int)));
    for (int i = 0; i < n; ++i) values[i] = i * threadIdx.x;
    __syncthreads();
    double* last = static_cast<double*>(__builtin_alloca(sizeof(double)));
    *last = values[n - 1];
    for (int round = 1; round < 40; ++round) {
        char* more = static_cast<char*>(alloca(2 * round));
        more[2 * round - 1] = round;
        *last += more[2 * round - 1];
    }
    out[threadIdx.x] = static_cast<int>(*last) + sum(n) + values[n - 1];
}
int main(int count, char** arguments) {
    int* out;
    cudaMallocManaged(&out, 64 * sizeof(int));
    kernel<<<1, 64>>>(atoi(arguments[1]), out);
    printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));
    if (count == 2) printf(" %d %d %d", out[0], out[1], out[63]);
}
"""


def test_alloca(tmp_path):
    program = compiled(ALLOCA, tmp_path)
    for order in ("forward", "reverse"):
        result = run(program, "10", CUDASIM_POLICY=order)
        assert (result.stdout, result.stderr) == ("cudaSuccess 825 843 1959", "")
    result = run(program, "2049", "failing")
    assert result.stdout == "cudaErrorAssert"
    number = max(i for i, line in enumerate(ALLOCA.splitlines()) if "alloca(n *" in line) + 1
    assert "alloca() has at most 8192 bytes in one call of a function" in result.stderr
    assert f"program.cu:{number}" in result.stderr


EXTENTS_AND_TYPEOF = """
#include <cstdio>
__global__ void add(int* x, int y) { typeof(y) z = y; atomicAdd(x, z); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    *x = 0;
    add<<<{2, 2, 1}, {3}>>>(x, 1); add<<< {1}, 4>>>(x, 10); int unused;
    add<<<1, {2, 1}>>>(x, 100);
    cudaDeviceSynchronize();
    printf("%d", *x);
}
"""


LAUNCHES_ON_SEVERAL_LINES = r"""
#include <cstdio>
struct Pair { int a; float b; };
__global__ void put(int* x, Pair p) { x[0] = p.a + 100 * (blockDim.y * blockDim.x) + 10000 * gridDim.x; }
#define PUT(x) put<<<{1}, \
                     {3, 1}>>>(x, {9, 0})
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    const auto print = [&] { cudaDeviceSynchronize(); printf("%d ", *x); };
    put<<<1, 1>>>
        (x, {1, 0});
    print();
    put<<<
        {2, 1},
        {4, 2}
    >>>
    (
        x, Pair{2, 0}
    );
    print();
    put<<<  // the grid, the block; <<<
        {2,
         1},
        /* >>> */ {3,
                   1}, 0>>>(x, {3, 0});
    print();
    put
        <<<dim3(2),
           {2}>>>   // the arguments
        (x, {4, 0});
    print();
    PUT(x);
    print();
}
"""


def test_launches_may_be_written_on_several_lines(tmp_path):
    assert output_of(LAUNCHES_ON_SEVERAL_LINES, tmp_path) == "10101 20802 20303 20204 10309 "


def test_extents_in_braces_and_typeof(tmp_path):
    (tmp_path / "a.cu").write_text(EXTENTS_AND_TYPEOF)
    options = ("-std=c++17", "-Xcompiler", "-Wunused-variable")
    built = nvcc("a.cu", "-o", "program", *options, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    line = EXTENTS_AND_TYPEOF.splitlines()[7]
    assert f"a.cu:8:{line.index('unused') + 1}: warning: unused variable 'unused'" in built.stderr
    assert f"8 | {line}\n" in built.stderr
    assert run(tmp_path / "program").stdout == "252"
