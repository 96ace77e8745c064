"""Host and device: attributes that differ between declarations, host functions that kernels come to."""

from __future__ import annotations

import pytest
from cuda_programs import needs_clang, nvcc, output_of, run

pytestmark = needs_clang

DECLARATIONS = r"""
#include <cstdio>
#define BOTH __host__ __device__
struct S {
    int x;
    BOTH int f() const;
    __device__ void g(int);
    int h(int) const;
    BOTH S(int); BOTH ~S(); int on_device() const;
    BOTH static const S& self(const S&);
    friend BOTH S operator+(const S& a, const S& b);
};
int S::f() const { return x * 2; }
void S::g(int v) { x = v + threadIdx.x; }
BOTH int S::h(int v) const { return x + v; }
__device__ int S::on_device() const { return 7; }
S::S(int v) : x(v) {}
S::~S() { x = 0; }
const S& S::self(const S& s) { return s; }
S operator+(const S& a, const S& b) { return S{a.x + b.x}; }
template <class T> struct V {
    T a;
    BOTH V(T);
    BOTH ~V();
    BOTH T twice() const;
    BOTH operator T() const;
    template <class U> __device__ U as(U) const;
};
template <class T> V<T>::V(T v) : a(v) {}
template <class T> V<T>::~V() {}
template <class T> T V<T>::twice() const { return a + a; }
template <class T> V<T>::operator T() const { return a; }
template <class T> template <class U> U V<T>::as(U u) const { return u + a; }
namespace names { BOTH int* same(int*); template <class T> BOTH T negative(T); }
int* names::same(int* p) { return p; }
template <class T> T names::negative(T v) { return -v; }
extern "C" BOTH int later(int);
extern "C" int later(int a) { return a + 3; }
int first_host(int);
BOTH int first_host(int a) { return a + 4; }
BOTH int device_again(int);
__device__ int device_again(int a) { return a + 5; }
__global__ void kernel(int* o) {
    S s(1);
    s.g(4);
    V<int> v{5};
    o[0] = s.f() + (S::self(s) + s).x, o[1] = v.twice() + v + v.as(2), o[2] = s.h(1) + s.on_device();
    o[3] = *names::same(o) + names::negative(1), o[4] = later(1) + first_host(1) + device_again(1);
}
int main() {
    int* d;
    cudaMallocManaged(&d, 20);
    kernel<<<1, 1>>>(d);
    cudaDeviceSynchronize();
    for (int i = 0; i < 5; ++i) printf("%d ", d[i]);
    S s(2);
    V<float> v{1.5f};
    printf("%d %g %d\n", s.f() + s.h(1) + (s + s).x, v.twice() + v, later(1) + first_host(1) + device_again(1));
}
"""


def test_declarations_with_other_attributes_than_the_definition(tmp_path):
    assert output_of(DECLARATIONS, tmp_path) == "16 22 12 15 15 11 4.5 15\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__global__ void k();\nvoid k() {}", "cannot overload __global__ function 'k'"),
        (
            "struct S { __device__ int f(int); };\nint S::f(float) { return 1; }",
            "out-of-line definition of 'f'",
        ),
        (
            "struct S { int f(int) const; };\n__device__ int S::f(int) { return 1; }",
            "out-of-line definition of 'f'",
        ),
    ],
)
def test_other_differences_of_declarations_are_errors(tmp_path, text, message):
    (tmp_path / "a.cu").write_text(text + "\nint main() {}\n")
    result = nvcc("-c", "a.cu", cwd=tmp_path)
    assert result.returncode == 1
    assert "a.cu:2:" in result.stderr and message in result.stderr
    assert "__attribute__" not in result.stderr


HOST_CALLS = r"""
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
static int declared_first(int a);
inline int with_directives(int a) { // {
#ifdef OTHER
    return 1; }
#else
    return declared_first(a) + 2; }
#endif
struct Host {
    std::vector<int> v;
    int x;
    Host(int a) : v{1, 2}, x(a) { v.push_back(3); }
    ~Host() { v.clear(); }
    int get() const { return v[0] + x; }
    virtual int table(); Host& operator+=(int);
};
int Host::table() { return x; }
Host& Host::operator+=(int a) { v.push_back(a); return *this; }
template <class T> T of_template(T a) { std::vector<T> v(3, a); return v[1]; }
struct Functor { int operator()(int a) { return rand() + a; } };
template <class F> __host__ __device__ int apply(F f, int a) { return f(a); }
__host__ __device__ int both(int a, Host* host) {
    switch (a) {
        case 1: return declared_first(a);
        case 2: exit(3);
        case 3: { Host h(3); h += 3; return h.get() + h.table(); }
        case 4: return of_template(3) + of_template(2.5f);
        case 5: return with_directives(3);
        case 6: { std::string s = "abc"; s += "d"; s.push_back('c'); return s.size(); }
        case 7: { std::vector<int> v; v.push_back(a); return v.size() + v[0]; }
        case 8: return rand();
        case 9: return apply(Functor(), 3);
        case 10: return host->get();
    }
    return a;
}
static int declared_first(int a) { return a + 1; }
__global__ void kernel(int* o, int a) {
    if (threadIdx.x == 1) o[blockIdx.x] = both(a, nullptr);
}
int main(int count, char** arguments) {
    int* o;
    cudaMallocManaged(&o, 12);
    kernel<<<3, 2>>>(o, atoi(arguments[1]));
    printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));
    if (count == 2) printf(" %d", o[2]);
    printf(" %d %d %d", both(1, nullptr), both(3, nullptr), both(6, nullptr));
}
"""
CALLED = {
    1: ("declared_first", "return declared_first(a);"),
    2: ("exit", "exit(3)"),
    3: ("Host", "Host h(3)"),
    4: ("of_template<int>", "of_template(3)"),
    5: ("with_directives", "return with_directives(3)"),
    7: ("vector", "std::vector<int> v; v.push"),
    8: ("rand", "return rand();"),
    9: ("operator()", "return f(a)"),
    10: ("get", "host->get()"),
}


def line_with(text: str) -> int:
    return next(i for i, line in enumerate(HOST_CALLS.splitlines(), 1) if text in line)


@pytest.mark.parametrize("options", [(), ("-rdc=true",)])
def test_a_kernel_that_calls_a_host_function_ends_with_a_report(tmp_path, options):
    (tmp_path / "program.cu").write_text(HOST_CALLS)
    built = nvcc("-o", "program", "program.cu", *options, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert ": error: " not in built.stderr
    text = HOST_CALLS.splitlines()[line_with("return rand();") - 1]
    place = f"program.cu:{line_with('return rand();')}:{text.index('rand()') + 1}"
    assert f"{place}: warning: calling the __host__ function 'rand'" in built.stderr
    assert built.stderr.count(f"{place}:") == 1
    assert text in built.stderr
    program = tmp_path / "program"
    result = run(program, "42")
    assert (result.stdout, result.stderr) == ("cudaSuccess 42 2 7 5", "")
    for number, (name, place) in CALLED.items():
        result = run(program, str(number), "failing")
        assert result.stdout == "cudaErrorLaunchFailure 2 7 5"
        assert f"error: trap: host function '{name}' was called on the device\n" in result.stderr
        assert "at tid=[1, 0, 0] ctaid=[0, 0, 0] in kernel kernel(int*, int)" in result.stderr
        assert f"program.cu:{line_with(place)}:" in result.stderr
    quiet = nvcc("-c", "program.cu", "-w", *options, cwd=tmp_path)
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_files_that_are_linked_each_name_their_host_functions(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.cu").write_text(
            f"int of_{name}() {{ return 1; }}\n__host__ __device__ int {name}() {{ return of_{name}(); }}\n"
            + ("" if name == "two" else "extern __host__ __device__ int two();\n")
            + f"__global__ void kernel_{name}(int which) {{ if (which == 1) {name}();\n"
            + ("" if name == "two" else "if (which == 2) two();\n")
            + "}\n"
            + (
                ""
                if name == "two"
                else "int main(int count, char**) { kernel_one<<<1, 1>>>(count); cudaDeviceSynchronize(); }\n"
            )
        )
    built = nvcc("-rdc=true", "-o", "program", "one.cu", "two.cu", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert "host function 'of_one' was called" in run(tmp_path / "program").stderr
    assert "host function 'of_two' was called" in run(tmp_path / "program", "second").stderr


HOST = "int host(int a) { return a; }\n__host__ __device__ int both(int a) { return host(a); }\n"
USE = "__global__ void use(int* o) { *o = both(1); }\n"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (HOST + USE + "__global__ void k(int* o) { *o = host(1); }\n", ()),
        (
            HOST
            + USE
            + "__device__ int k(int* o) { return host(1); }\n__global__ void l(int* o) { *o = k(o); }\n",
            (),
        ),
        (HOST + USE, ("-Werror", "all-warnings")),
        ("int v;\n__host__ __device__ int both(int a) { return v; }\n" + USE, ()),
    ],
)
def test_calls_of_host_functions_by_device_functions_are_errors(tmp_path, text, options):
    (tmp_path / "a.cu").write_text(text + "int main() {}\n")
    result = nvcc("-c", "a.cu", *options, cwd=tmp_path)
    assert result.returncode == 1
    assert ": error: " in result.stderr
    assert "__attribute__" not in result.stderr
