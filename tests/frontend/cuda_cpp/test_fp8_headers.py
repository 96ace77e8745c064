"""cuda_fp8.h, cuda_fp6.h, cuda_fp4.h: conversions on host and device, compared with exact arithmetic."""

from __future__ import annotations

import math
import pathlib
import subprocess
from fractions import Fraction

import pytest
from cuda_programs import NVCC, TOOLKIT, compiled, needs_clang, run
from exact_rounding import HALF, NEAREST, ZERO, Format, bits_of_float, float_of_bits
from short_float_checks import agree, read_results

pytestmark = [needs_clang, pytest.mark.skipif(not NVCC.exists(), reason="no toolkit in the build tree")]
PROGRAMS = pathlib.Path(__file__).parent / "programs"

# `infinity` is what follows the largest number, whether or not the format has infinity.
E4M3, E5M2 = Format(4, -6, 0x7F, 0x7F, 8), Format(3, -14, 0x7C, 0x7F, 8)
E2M3, E3M2, E2M1 = Format(4, 0, 0x20, 0x1F, 6), Format(3, -2, 0x20, 0x1F, 6), Format(2, 0, 8, 7, 4)


def pattern(form: Format, value: float, *, finite: bool, mode: str = NEAREST) -> int:
    if math.isnan(value):
        return form.nan
    sign = form.sign if math.copysign(1, value) < 0 else 0
    size = form.infinity if math.isinf(value) else form.rounded(abs(Fraction(value)), mode)
    return sign | min(size, form.infinity - finite)


def half_value(p: int) -> float:
    if HALF.is_nan(p):
        return math.nan
    size = math.inf if HALF.is_infinite(p) else float(abs(HALF.value(p)))
    return -size if p & HALF.sign else size


def test_conversions(tmp_path):
    result = run(compiled((PROGRAMS / "mini_floats.cu").read_text(), tmp_path), "results")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    results = read_results(tmp_path / "results")
    halves = [half_value(p) for p in range(65536)]
    lows = [float_of_bits(int(b)) for b in results["low"]]
    wides = [x * (1 + 1e-15 * (i % 3 - 1)) for i, x in enumerate(lows)]
    integers = [int(b) - ((int(b) >> 63) << 64) for b in results["integer"]]
    made: dict[str, list[int]] = {}
    for name, form in (("e4m3", E4M3), ("e5m2", E5M2)):
        for finite, suffix in ((False, ""), (True, "_finite")):
            for source, values in (("half", halves), ("low", lows), ("wide", wides), ("integer", integers)):
                what = f"{source}_{name}{suffix}"
                if what in results:
                    made[what] = [pattern(form, x, finite=finite) for x in values]
                    if source == "wide":  # of doubles NaN has a sign and, in e5m2, a bit
                        got = results[what]
                        assert all(
                            form.is_nan(int(got[i])) or (form is E4M3 and got[i] & 0x7F == 0x7F)
                            for i, x in enumerate(values)
                            if math.isnan(x)
                        )
                        made[what] = [
                            int(got[i]) if math.isnan(x) else made[what][i] for i, x in enumerate(values)
                        ]
                    agree(results[what], made[what], what)
    assert len(made) == 12
    agree(results["low_e2m3"], [pattern(E2M3, x, finite=True) for x in lows], "e2m3")
    agree(results["low_e2m3_zero"], [pattern(E2M3, x, finite=True, mode=ZERO) for x in lows], "e2m3, cut")
    e3m2 = [pattern(E3M2, x, finite=True) for x in lows]
    agree(results["low_e3m2"], e3m2, "e3m2")
    e2m1 = [pattern(E2M1, x, finite=True) for x in lows]
    agree(results["low_e2m1"], e2m1, "e2m1")
    agree(results["wide_e2m1"], [pattern(E2M1, x, finite=True) for x in wides], "e2m1 of doubles")

    # Several numbers: what one alone gives, at its place.
    one = made["low_e4m3_finite"]
    assert ((results["pair_e4m3"] & 0xFF) == one).all()
    high = [int(p) >> 8 for p in results["pair_e4m3"]]
    fours = [x | h << 8 | 0x38 << 16 | x << 24 for x, h in zip(one, high, strict=True)]
    agree(results["four_e4m3"], fours, "four e4m3")
    assert len(set(high)) > 100
    assert ((results["pair_e3m2"] & 0xFF) == e3m2).all()
    assert ((results["four_e2m1"] & 0xF) == e2m1).all() and (results["four_e2m1"] >> 8 & 0xFF).tolist() == [
        2 | x << 4 for x in e2m1
    ]

    def scale(x: float, up: bool, largest: int) -> int:
        if math.isnan(x):
            return 255
        if math.isinf(x) or x == 0:
            return largest if x else 0
        fraction, exponent = math.frexp(abs(x))
        return min(max(exponent - 1 + 127 + (up and fraction != 0.5), 0), largest)

    agree(results["low_e8m0_up"], [scale(x, True, 254) for x in lows], "e8m0 up")
    agree(results["made_e8m0"], [scale(x, True, 254) for x in lows], "e8m0")
    agree(results["low_e8m0_down"], [scale(x, False, 255) for x in lows], "e8m0 down")

    check_values(results)


def check_values(results) -> None:
    def number(form: Format, p: int) -> float:
        p &= 2 * form.sign - 1
        size = p & (form.sign - 1)
        if form.bits == 8 and size >= form.infinity:
            return (
                math.copysign(math.inf, -(p & form.sign) or 1) if (form, size) == (E5M2, 0x7C) else math.nan
            )
        value = float(abs(form.value(p)))
        return -value if p & form.sign else value

    every = range(256)
    for name, form in (("e4m3", E4M3), ("e5m2", E5M2), ("e2m3", E2M3), ("e3m2", E3M2), ("e2m1", E2M1)):
        numbers = [number(form, p) for p in every]
        floats = [0x7FFFFFFF if math.isnan(x) else bits_of_float(x) for x in numbers]
        agree(results[name], floats, name)
        if form.bits != 8:
            continue
        halves = [0x7FFF if math.isnan(x) else HALF.infinity | (x < 0) << 15 if math.isinf(x) else
                  HALF.rounded(Fraction(x), negative_zero=math.copysign(1, x) < 0) for x in numbers]  # fmt: skip
        agree(results[f"{name}_half"], halves, f"{name} as half")
        if form is E4M3:
            whole = [0 if math.isnan(x) else int(x) & 0xFFFFFFFFFFFFFFFF for x in numbers]
            agree(results["e4m3_int"], whole, "e4m3 as int")
            agree(results["e4m3_pair"], floats, "pair of e4m3")
        else:
            bytes_ = [0 if math.isnan(x) else int(min(max(x, 0), 255)) for x in numbers]
            agree(results["e5m2_uchar"], bytes_, "e5m2 as unsigned char")
            agree(results["e5m2_bool"], [int(x != 0) for x in numbers], "e5m2 as bool")
            agree(results["e5m2_raw"], halves, "pair of e5m2")
    agree(results["e2m1_four"], [bits_of_float(number(E2M1, p)) for p in every], "four e2m1")
    scales = [0x7FFF0000 if p == 255 else bits_of_float(2.0 ** (p - 127)) for p in every]
    agree(results["e8m0"], scales, "e8m0")


@pytest.mark.parametrize("header", ["cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h"])
def test_headers_alone(tmp_path, header):
    kind = header[5:8]
    options = ["-Wall", "-Wextra", "-Werror", "-I", TOOLKIT / "include", "-c"]
    (tmp_path / "one.cpp").write_text(
        f"#include <{header}>\nint size() {{ return sizeof(__nv_{kind}x4_storage_t); }}\n"
    )
    (tmp_path / "one.c").write_text(f"#include <{header}>\n__nv_{kind}_storage_t kept;\n")
    subprocess.run(["g++", "-std=c++11", *options, "one.cpp"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", *options, "one.c"], cwd=tmp_path, check=True)
