"""cuComplex.h in CUDA and in C, and math_constants.h: compared with Python's arithmetic."""

from __future__ import annotations

import cmath
import decimal
import math
import subprocess
from decimal import Decimal

import pytest
from cuda_programs import NVCC, TOOLKIT, needs_clang, output_of, run

pytestmark = [needs_clang, pytest.mark.skipif(not NVCC.exists(), reason="no toolkit in the build tree")]

# Everything of one type, as lines of hexadecimal numbers. %s: suffix of functions, type, type of the parts.
FUNCTIONS = r"""
HD void all%(f)s(%(type)s x, %(type)s y, %(type)s d, double* out) {
    const %(type)s z[] = {cuCadd%(f)s(x, y), cuCsub%(f)s(x, y), cuCmul%(f)s(x, y), cuCdiv%(f)s(x, y),
                          cuConj%(f)s(x), cuCfma%(f)s(x, y, d), make_%(type)s(cuCimag%(f)s(x), cuCreal%(f)s(x))};
    int i;
    for (i = 0; i < 7; ++i) {
        out[2 * i] = z[i].x;
        out[2 * i + 1] = z[i].y;
    }
    out[14] = cuCabs%(f)s(x);
    out[15] = cuComplexDoubleToFloat(cuComplexFloatToDouble(make_cuComplex(1.5f, -2))).y;
}
"""
MAIN = r"""
static void print(const double* out) {
    int i;
    for (i = 0; i < 16; ++i) printf("%a ", out[i]);
    printf("\n");
}
static const double cases[][6] = {
    {1, 2, 3, -4, 0.5, 7}, {1.25, -3, 0.1, 0.7, 1e-3, 9}, {3e30, 4e30, 1e30, -2e30, 0, 0},
    {3e-30, 4e-30, 1e-30, 2e-30, 0, 0}, {0, 0, 1, 1, -1, 2}, {-5, 0, 0, 2, 0, 0}, {INFINITY, 1, 1, 1, 0, 0},
};
int main() {
    double out[16];
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const double* c = cases[i];
        compute_f(make_cuFloatComplex(c[0], c[1]), make_cuFloatComplex(c[2], c[3]), make_cuFloatComplex(c[4], c[5]),
                  out);
        print(out);
        compute(make_cuDoubleComplex(c[0], c[1]), make_cuDoubleComplex(c[2], c[3]), make_cuDoubleComplex(c[4], c[5]),
                out);
        print(out);
    }
    return 0;
}
"""
ON_DEVICE = r"""
__device__ double results[16];
__global__ void run(cuDoubleComplex x, cuDoubleComplex y, cuDoubleComplex d, double* out) { all(x, y, d, out); }
__global__ void run_f(cuComplex x, cuComplex y, cuComplex d, double* out) { allf(x, y, d, out); }
static void fetch(double* device, double* out) {
    cudaMemcpy(out, device, 16 * sizeof(double), cudaMemcpyDeviceToHost);
    cudaFree(device);
}
static void compute(cuDoubleComplex x, cuDoubleComplex y, cuDoubleComplex d, double* out) {
    double* device;
    cudaMalloc(&device, 16 * sizeof(double));
    run<<<1, 1>>>(x, y, d, device);
    fetch(device, out);
}
static void compute_f(cuComplex x, cuComplex y, cuComplex d, double* out) {
    double* device;
    cudaMalloc(&device, 16 * sizeof(double));
    run_f<<<1, 1>>>(x, y, d, device);
    fetch(device, out);
}
"""
CASES = [
    (1 + 2j, 3 - 4j, 0.5 + 7j), (1.25 - 3j, 0.1 + 0.7j, 1e-3 + 9j), (3e30 + 4e30j, 1e30 - 2e30j, 0j),
    (3e-30 + 4e-30j, 1e-30 + 2e-30j, 0j), (0j, 1 + 1j, -1 + 2j), (-5 + 0j, 2j, 0j), (complex(math.inf, 1), 1 + 1j, 0j),
]  # fmt: skip


def source(extra: str) -> str:
    double = FUNCTIONS % {"f": "", "type": "cuDoubleComplex"}
    single = FUNCTIONS % {"f": "f", "type": "cuFloatComplex"}
    return f"#include <cuComplex.h>\n#include <stdio.h>\n{extra.split('//')[0]}{double}{single}{extra.split('//')[1]}{MAIN}"


def check(output: str) -> None:
    lines = [[float.fromhex(word) for word in line.split()] for line in output.splitlines()]
    assert len(lines) == 2 * len(CASES)
    for index, (x, y, d) in enumerate(CASES):
        for got, accuracy, largest in ((lines[2 * index], 4e-7, 3e38), (lines[2 * index + 1], 1e-15, 1e300)):
            values = [complex(*got[2 * i : 2 * i + 2]) for i in range(7)]
            assert values[4] == x.conjugate() or accuracy == 4e-7
            assert got[15] == -2
            assert got[14] == pytest.approx(abs(x), rel=accuracy)
            if cmath.isinf(x):
                continue
            for value, expected in zip(
                values,
                (x + y, x - y, x * y, x / y, x.conjugate(), x * y + d, complex(x.imag, x.real)),
                strict=True,
            ):
                if abs(expected) < largest and not 0 < abs(expected) < 1 / largest:
                    assert abs(value - expected) <= accuracy * (
                        abs(expected) + abs(x * y) * (expected == x * y + d)
                    )


def test_complex_numbers_on_the_device(tmp_path):
    check(output_of(source("#define HD __host__ __device__\n//" + ON_DEVICE), tmp_path))


def test_complex_numbers_in_c(tmp_path):
    (tmp_path / "host.c").write_text(
        source("#define HD static\n#define compute all\n#define compute_f allf\n//")
    )
    options = ["-Wall", "-Wextra", "-Werror", "-isystem", TOOLKIT / "include", "-lm"]
    subprocess.run(["gcc", "-std=c11", "host.c", *options, "-o", "host"], cwd=tmp_path, check=True)
    check(run(tmp_path / "host").stdout)
    (tmp_path / "host.cpp").write_text(
        (tmp_path / "host.c")
        .read_text()
        .replace("#include <cuComplex.h>", "#include <cuComplex.h>\n#include <cmath>")
    )
    subprocess.run(["g++", "-std=c++11", "host.cpp", *options, "-o", "host"], cwd=tmp_path, check=True)
    check(run(tmp_path / "host").stdout)


def test_constants(tmp_path):
    decimal.getcontext().prec = 60
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    ln2, ln10 = Decimal(2).ln(), Decimal(10).ln()
    exact = {
        "SQRT_HALF": Decimal("0.5").sqrt(), "SQRT_TWO": Decimal(2).sqrt(), "THIRD": Decimal(1) / 3, "PIO4": pi / 4,
        "PIO2": pi / 2, "3PIO4": 3 * pi / 4, "2_OVER_PI": 2 / pi, "PI": pi, "L2E": 1 / ln2, "L2T": ln10 / ln2,
        "LG2": ln2 / ln10, "LGE": 1 / ln10, "LN2": ln2, "LNT": ln10, "LNPI": pi.ln(), "TWO_TO_23": Decimal(2**23),
    }  # fmt: skip
    doubles = exact | {
        "TWOTHIRD": Decimal(2) / 3, "SQRT_2PI": (2 * pi).sqrt(), "SQRT_PIO2": (pi / 2).sqrt(),
        "SQRT_2OPI": (2 / pi).sqrt(), "LN2_X_1024": 1024 * ln2, "LN2_X_1025": 1025 * ln2, "LN2_X_1075": 1075 * ln2,
        "LG2_X_1024": 1024 * ln2 / ln10, "LG2_X_1075": 1075 * ln2 / ln10, "TWO_TO_52": Decimal(2**52),
        "TWO_TO_53": Decimal(2**53), "TWO_TO_54": Decimal(2**54), "TWO_TO_M54": Decimal(2) ** -54,
        "TWO_TO_M1022": Decimal(2) ** -1022,
    }  # fmt: skip
    split = ["PIO4", "PIO2", "PI", "SQRT_2PI", "SQRT_PIO2", "L2E", "LG2", "LGE", "LN2", "LNT", "SQRT_HALF"]
    rows = [(f"{n}_F", v, 1e-7) for n, v in exact.items()] + [(n, v, 0) for n, v in doubles.items()]
    rows += [(f"{n}_HI", doubles[n], 0) for n in split]
    rows += [(f"{n}_LO", doubles[n] - Decimal(float(doubles[n])), 0) for n in split]
    special = {
        "INF_F": math.inf, "NEG_ZERO_F": -0.0, "MIN_DENORM_F": 2.0**-149, "MAX_NORMAL_F": 2.0**128 - 2.0**104,
        "INF": math.inf, "NEG_ZERO": -0.0, "MIN_DENORM": 5e-324, "ZERO": 0.0, "ONE_F": 1.0, "REMQUO_BITS_F": 3.0,
        "REMQUO_MASK_F": 7.0, "TRIG_PLOSS_F": 105615.0, "DBL2INT_CVT": 1.5 * 2**52,
    }  # fmt: skip
    names = [row[0] for row in rows] + list(special)
    prints = "".join(f'    printf("%a\\n", static_cast<double>(CUDART_{name}));\n' for name in names)
    text = f"#include <math_constants.h>\n#include <cstdio>\n__global__ void constants() {{\n{prints}"
    text += (
        '    printf("%d\\n", isnan(CUDART_NAN_F) && isnan(CUDART_NAN));\n}\n'
        "int main() {\n    constants<<<1, 1>>>();\n    cudaDeviceSynchronize();\n}\n"
    )
    *lines, nan = output_of(text, tmp_path).split()
    assert nan == "1"
    values = [float.fromhex(line) for line in lines]
    for (name, expected, accuracy), value in zip(rows, values, strict=False):
        assert value == (pytest.approx(float(expected), rel=accuracy) if accuracy else float(expected)), name
    for (name, expected), value in zip(special.items(), values[len(rows) :], strict=True):
        assert (value, math.copysign(1, value)) == (expected, math.copysign(1, expected)), name
