"""Values that an H200 gave and that C++ leaves open, or that other implementations make otherwise."""

import subprocess
import sys

from cuda_programs import compiled, environment, needs_clang, output_of

pytestmark = needs_clang

SMALL = r"""
#include <cstdio>
template <class Small, class Real>
__global__ void convert(const Real* x, long long* converted, int n) {
    for (int i = 0; i < n; i++) converted[i] = static_cast<Small>(x[i]);
}
template <class Small, class Real>
void print(const char* name) {
    const Real values[] = {-7.9, 300.5, -300.5, 40000, 70000, -70000, 2147483520, 1e10, -1e10, INFINITY, NAN};
    constexpr int n = sizeof values / sizeof values[0];
    Real* x;
    long long* converted;
    cudaMallocManaged(&x, sizeof values);
    cudaMallocManaged(&converted, n * sizeof *converted);
    for (int i = 0; i < n; i++) x[i] = values[i];
    convert<Small><<<1, 1>>>(x, converted, n);
    cudaDeviceSynchronize();
    printf("%s", name);
    for (int i = 0; i < n; i++) printf(" %lld", converted[i]);
    printf("\n");
}
int main() {
    print<unsigned char, float>("u8");
    print<signed char, float>("s8");
    print<unsigned short, float>("u16");
    print<short, float>("s16");
    print<unsigned char, double>("u8d");
    print<short, double>("s16d");
}
"""


def cut(value, bits, is_signed):
    """By way of 32 bits, which saturate. Of a float64 NaN the highest bit is left, which is cut off."""
    lowest, highest = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, (1 << 32) - 1)
    word = int(max(lowest, min(highest, value))) & ((1 << bits) - 1) if value == value else 0
    return word - (1 << bits) if is_signed and word >> (bits - 1) else word


def test_floats_become_small_integers_by_way_of_32_bits(tmp_path):
    inf, nan = float("inf"), float("nan")
    values = [-7.9, 300.5, -300.5, 40000, 70000, -70000, 2147483520, 1e10, -1e10, inf, nan]
    lines = dict(line.split(" ", 1) for line in output_of(SMALL, tmp_path).splitlines())
    for name, bits, is_signed in [("u8", 8, False), ("s8", 8, True), ("u16", 16, False), ("s16", 16, True)]:
        wanted = [cut(value, bits, is_signed) for value in values]
        assert list(map(int, lines[name].split())) == wanted, name
        if name + "d" in lines:
            assert list(map(int, lines[name + "d"].split())) == wanted, name


CHECKED = r"""
__global__ void kernel(float x, int* out) {
    out[0] = static_cast<unsigned char>(static_cast<int>(x));  // 44: the int has 300
    out[1] = static_cast<short>(x * 100);
    out[2] = static_cast<short>(x * 1000);
}
int main() {
    int* out;
    cudaMalloc(&out, 12);
    kernel<<<1, 1>>>(300, out);
    return cudaDeviceSynchronize();
}
"""


def test_the_check_of_conversions_knows_the_small_integer(tmp_path):
    program = compiled(CHECKED, tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "cudasim", "check", "--check", "arithmetic", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    text = result.stdout + result.stderr
    assert text.count("warning: float-to-integer") == 1, text
    assert "program.cu:5:" in text


FAST = r"""
#include <cstdio>
__global__ void kernel(const float* x, const float* y, float* powers, float* quotients, double* bessel) {
    int i = threadIdx.x;
    powers[i] = __powf(x[i], y[i]);
    quotients[i] = __fdividef(x[i], y[i]);
    bessel[0] = cyl_bessel_i0(1e300 * x[5]), bessel[1] = cyl_bessel_i1(-1e300 * x[5]);
    bessel[2] = cyl_bessel_i0f(3e38f * x[5]), bessel[3] = cyl_bessel_i1f(-3e38f * x[5]);
}
int main() {
    const float tables[2][8] = {{-2, 0, INFINITY, 2, 3, 1, -3, INFINITY}, {2, 0, 0, -2, 2.5f, 0x1.8p126f, -0x1p127f, 0x1p127f}};
    float *x, *powers, *quotients;
    double* bessel;
    cudaMallocManaged(&x, sizeof tables);
    cudaMallocManaged(&powers, 32);
    cudaMallocManaged(&quotients, 32);
    cudaMallocManaged(&bessel, 32);
    cudaMemcpy(x, tables, sizeof tables, cudaMemcpyHostToHost);
    kernel<<<1, 8>>>(x, x + 8, powers, quotients, bessel);
    cudaDeviceSynchronize();
    for (int i = 0; i < 8; i++) printf("%g ", fabsf(powers[i]));
    for (int i = 0; i < 8; i++) printf("%g ", quotients[i]);
    printf("%g %g %g %g\n", bessel[0], bessel[1], bessel[2], bessel[3]);
}
"""


def test_domains_of_fast_functions(tmp_path):
    """By way of a logarithm, and of a reciprocal that is 0 for large divisors."""
    words = output_of(FAST, tmp_path).replace("-nan", "nan").split()
    assert words[:8] == ["nan", "nan", "nan", "0.25", "15.5885", "1", "nan", "inf"]
    assert words[8:16] == ["-1", "nan", "inf", "-1", "1.2", "0", "0", "nan"]
    assert words[16:] == ["inf", "-inf", "inf", "-inf"]
