"""Objects that device functions take by value: the caller makes and destroys them where copying is more than copying bytes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cuda_programs import compiled, environment, needs_clang, nvcc, run

pytestmark = needs_clang

CLASSES = """
#include <cstdio>
struct Counted { int value; Counted* self; int* made;
  __device__ Counted(int v, int* m) : value(v), self(this), made(m) { ++*made; }
  __device__ Counted(const Counted& o) : value(o.value), self(this), made(o.made) { ++*made; }
  __device__ ~Counted() { --*made; value = -1; } };
struct Plain { int a[6]; };
struct Built { int a, b; __device__ Built(int x) : a(x), b(2 * x) {} };
__device__ int take(Counted c);
__device__ int take_plain(Plain p);
__device__ int take_built(Built p);
struct Base { __device__ virtual int of(Counted c, Plain p) const { return 0; } };
struct Derived : Base { int k; __device__ Derived(int k) : k(k) {} __device__ int of(Counted c, Plain p) const override { c.value += k; p.a[0] += 100; return c.self->value + p.a[0]; } };
"""

FUNCTIONS = """
__device__ int take(Counted c) { c.self->value += 1; return c.value; }
__device__ int take_plain(Plain p) { p.a[0] += 1; return p.a[0]; }
__device__ int take_built(Built p) { p.a += p.b; p.a += 1; return p.a; }
"""

KERNEL = r"""
__device__ int through(int (*f)(Counted), Counted c) { return f(c) + c.self->value; }
__device__ int through_plain(int (*f)(Plain), Plain p) { int r = f(p); return r * 100 + p.a[0]; }
__device__ int through_built(int (*f)(Built), Built p) { int r = f(p); return r * 100 + p.a; }
template <typename F> __device__ int call(F f, Counted c) { return f(c, 5); }
__global__ void k(int* out, Plain given) {
    int made = 0;
    {
        Counted c(10, &made);
        out[0] = take(c);              // 11
        out[1] = c.value;              // 10
        out[2] = take(Counted(20, &made));  // 21
        out[3] = through(take, c);     // 11 + 10
        Plain p{};
        p.a[0] = 7;
        out[4] = take_plain(p);        // 8
        out[5] = p.a[0];               // 7
        out[6] = through_plain(take_plain, p);  // 807
        out[7] = take_built(Built(3)); // 10
        Built b(4);
        out[8] = take_built(b) * 100 + b.a;    // 1304
        out[9] = through_built(take_built, b); // 1304
        out[10] = through_built(take_built, Built(5)); // 1605
        const Base* d = new Derived(3);
        out[11] = d->of(c, p);         // 13 + 107
        out[12] = c.value * 100 + p.a[0];  // 1007
        delete d;
        int extra = 1;
        out[13] = call([=](Counted x, int y) { x.value += y + extra; return x.self->value; }, c);  // 16
        out[14] = take_plain(given) * 100 + given.a[0];
        const Counted& r = c;
        out[15] = [](Counted x) { return x.self->value++; }(r);
    }
    out[16] = made;                    // 0
}
int main() {
    int* out; cudaMallocManaged(&out, 17 * 4);
    Plain p{}; p.a[0] = 3;
    k<<<1, 1>>>(out, p);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    const int expected[] = {11, 10, 21, 21, 8, 7, 807, 10, 1304, 1304, 1605, 120, 1007, 16, 403, 10, 0};
    int bad = 0;
    for (int i = 0; i < 17; ++i) if (out[i] != expected[i]) printf("%d: %d, not %d\n", i, out[i], expected[i]), bad = 1;
    printf(bad ? "FAIL\n" : "PASS\n");
}
"""


@pytest.mark.parametrize("options", [(), ("-O0",), ("-O3",), ("-G",)], ids=str)
def test_a_function_works_on_the_callers_object(tmp_path, options):
    assert run(compiled(CLASSES + KERNEL + FUNCTIONS, tmp_path, *options)).stdout == "no error\nPASS\n"


def test_functions_of_other_files_do_so_too(tmp_path):
    (tmp_path / "classes.h").write_text("#pragma once\n" + CLASSES)
    for name, text in (("kernel", KERNEL), ("functions", FUNCTIONS)):
        (tmp_path / f"{name}.cu").write_text('#include "classes.h"\n' + text)
    made = nvcc("-rdc=true", "kernel.cu", "functions.cu", "-o", "program", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    result = run(tmp_path / "program", CUDASIM_CHECK="memory,races,init", CUDASIM_POLICY="lockstep")
    assert (result.stdout, result.stderr) == ("no error\nPASS\n", "")


OWNERS = """
#include <cstdio>
#include <nvfunctional>
#include <utility>
struct Owner {
    int* p;
    __device__ explicit Owner(int v) : p(new int(v)) {}
    __device__ Owner(Owner&& other) : p(other.p) { other.p = nullptr; }
    __device__ Owner& operator=(Owner other) {
        int* mine = p;
        p = other.p, other.p = mine;
        return *this;
    }
    __device__ ~Owner() { delete p; }
};
__device__ int consume(Owner owner) {
    int value = *owner.p;
    delete owner.p;
    owner.p = nullptr;
    return value;
}
__device__ int stored(Owner owner) {
    Owner kept(std::move(owner));
    return *kept.p;
}
__global__ void use(int* out) {
    Owner a(7), b(8);
    a = std::move(b);
    out[0] = *a.p;
    out[1] = consume(Owner(9));
    out[2] = stored(std::move(a)) + (a.p == nullptr);
    nvstd::function<int(int)> f = [](int x) { return x + 1; };
    f = [](int x) { return x * 2; };
    out[3] = f(4);
}
int main() {
    int* out;
    cudaMallocManaged(&out, 16);
    use<<<1, 1>>>(out);
    cudaError_t ended = cudaDeviceSynchronize();
    std::printf("%s %d %d %d %d\\n", cudaGetErrorName(ended), out[0], out[1], out[2], out[3]);
}
"""


def test_what_owns_memory_gives_it_on(tmp_path):
    result = run(compiled(OWNERS, tmp_path), CUDASIM_CHECK="memory,leaks")
    assert result.stdout == "cudaSuccess 8 9 9 8\n"
    assert "free" not in result.stderr and "Owner" not in result.stderr


def test_a_debugger_shows_the_members_of_such_an_object(tmp_path):
    program = compiled(CLASSES + FUNCTIONS + KERNEL, tmp_path, "-G")
    line = next(
        i for i, text in enumerate((CLASSES + FUNCTIONS).splitlines(), 1) if "take(Counted c) {" in text
    )
    commands = f"break program.cu:{line}\nrun\nprint c.value\ninfo args\nquit\n"
    shown = subprocess.run(
        [sys.executable, "-m", "cudasim", "debug", program],
        input=commands, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip
    assert "$1 = 10" in shown and "c = (value=10, " in shown
