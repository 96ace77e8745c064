"""cvt to f16 in all directions (PTX ISA, "cvt", floating-point rounding modifiers), beside exact arithmetic."""

import bisect
import fractions
import math

import numpy as np
import pytest
from ptx_programs import call, function

#: All finite numbers of float16, in order.
HALVES = np.sort(np.arange(1 << 16, dtype=np.uint16).view(np.float16))
FINITE = [fractions.Fraction(float(h)) for h in HALVES[np.isfinite(HALVES)] if h != 0 or not np.signbit(h)]
LARGEST = FINITE[-1]


def rounded(value, direction):
    """The float16 below ("rm"), above ("rp") or towards zero ("rz"), as a float; an exact one is itself."""
    if not isinstance(value, int) and not math.isfinite(value):
        return float(value)
    exact = fractions.Fraction(value)
    if direction == "rz":
        direction = "rm" if exact > 0 else "rp"
        if abs(exact) > LARGEST:
            return math.copysign(float(LARGEST), exact)
    if direction == "rm":
        if exact < -LARGEST:
            return -math.inf
        found = float(FINITE[bisect.bisect_right(FINITE, exact) - 1])
    else:
        if exact > LARGEST:
            return math.inf
        found = float(FINITE[bisect.bisect_left(FINITE, exact)])
    return math.copysign(found, value) if found == 0 else found


def in_direction(direction, kind, values):
    body = f"{{ .reg .f16 %h;\n.reg .b16 %s;\ncvt.{direction}.f16.{kind} %h, %a;\nmov.b16 %s, %h;\ncvt.u32.u16 %r, %s; }}"
    bits = call(function(body, "u32", kind), "u32", (kind,), [values])
    return bits.astype(np.uint16).view(np.float16).astype(np.float64)


REALS = [0.0, -0.0, 1.0, 1 + 2**-11, 1 + 2**-12, 1 + 3 * 2**-12, -1 - 2**-12, 0.1, -0.1, 1 / 3, 1e-8, -1e-8, 2**-24, 3e-8, -3e-8,
         2**-25, 6.1e-5, 65503.0, 65504.0, 65519.0, 65520.0, 65536.0, 1e6, -65505.0, -65520.0, -1e9, math.inf, -math.inf]  # fmt: skip


@pytest.mark.parametrize("direction", ["rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_reals(kind, direction):
    random = np.random.default_rng(5)
    values = np.concatenate(
        [REALS, random.normal(size=200), random.normal(size=200) * 1e4, random.normal(size=200) * 1e-6]
    )
    values = values.astype(kind.replace("f", "float"))
    found = in_direction(direction, kind, values)
    expected = np.array([rounded(float(value), direction) for value in values])
    assert np.array_equal(found, expected)
    assert np.array_equal(np.signbit(found), np.signbit(expected))
    assert np.isnan(in_direction(direction, kind, np.array([math.nan], values.dtype))[0])


@pytest.mark.parametrize("direction", ["rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
def test_integers(kind, direction):
    values = [
        0,
        1,
        2047,
        2048,
        2049,
        2051,
        4097,
        65503,
        65504,
        65505,
        65519,
        65521,
        70000,
        1 << 30,
        (1 << 31) - 1,
    ]
    if kind[1:] == "64":
        values += [(1 << 53) + 1, (1 << 62) + 3]
    if kind[0] == "s":
        values += [-value for value in values]
    found = in_direction(direction, kind, values)
    assert found.tolist() == [rounded(value, direction) for value in values]


def test_pairs_towards_zero():
    body = "cvt.rz.f16x2.f32 %r, %a, %b;"
    bits = call(function(body, "u32", "f32", "f32"), "u32", ("f32", "f32"), [[1 + 2**-11], [-70000.0]])
    high, low = np.uint16(bits[0] >> 16), np.uint16(bits[0] & 0xFFFF)
    assert (high.view(np.float16), low.view(np.float16)) == (1.0, -65504.0)


def test_subnormal_numbers_are_zero_with_ftz():
    values = np.array([1e-40, -1e-40], np.float32)
    plain, flushed = in_direction("rp", "f32", values), in_direction("rp.ftz", "f32", values)
    assert plain.tolist() == [2**-24, 0.0] and flushed.tolist() == [0.0, 0.0]
    assert in_direction("rm", "f32", values).tolist() == [0.0, -(2**-24)]
