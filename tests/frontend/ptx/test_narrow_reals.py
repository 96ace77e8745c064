"""Numbers in 8 and 16 bits: bf16, e4m3, e5m2, f16 with modifiers, tf32. What is expected is computed with fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from ptx_programs import call, function

NAN = 0x7FFF
# Bits of bf16: zeros, subnormal ones, ties and their neighbours, the largest, infinities, NaN.
BRAINS = [0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x3F81, 0x3F00, 0x4049, 0x3B80, 0xBB80,
          0x3C00, 0x0100, 0x7F7F, 0xFF7F, 0x7F00, 0x7F80, 0xFF80, 0x7FC1, 0xFFFF, 0x2F92, 0x3F60, 0x967C]  # fmt: skip


def brain(bits):
    return float(np.uint32(bits << 16).view(np.float32))


def half(bits):
    return float(np.uint16(bits).view(np.float16))


def numbers_of(decode, bits):
    """Finite numbers of a format, below zero too, with their bits."""
    return [(Fraction(decode(code)), code) for code in range(1 << bits) if math.isfinite(decode(code))]


BRAIN_NUMBERS = sorted(entry for entry in numbers_of(brain, 16) if entry[1] != 0x8000)
BRAIN_VALUES = [value for value, _ in BRAIN_NUMBERS]


def nearest_brain(value, zero_bits=0):
    """The bits of the bf16 nearest to a fraction, of two the even one."""
    if value == 0:
        return zero_bits
    magnitude = abs(value)
    sign = 0x8000 if value < 0 else 0
    if magnitude >= Fraction(brain(0x7F7F)) + Fraction(2) ** 119:
        return sign | 0x7F80
    low, high = 0, 0x7F7F
    while low < high:  # bits grow with magnitudes
        middle = (low + high + 1) // 2
        low, high = (middle, high) if Fraction(brain(middle)) <= magnitude else (low, middle - 1)
    if low == 0x7F7F:
        return sign | low
    below, above = magnitude - Fraction(brain(low)), Fraction(brain(low + 1)) - magnitude
    up = above < below or (above == below and low % 2 == 1)
    return sign | (low + up)


def words(body, *columns):
    """Runs a body over columns of words that are in %a, %b, %c; %ha, %hb, %hc hold their lower halves."""
    names = "abc"[: len(columns)]
    registers = "".join(f".reg .b16 %h{n};\ncvt.u16.u32 %h{n}, %{n};\n" for n in names)
    text = function(f"{{ .reg .b16 %h;\n{registers}{body}\n}}", "u32", *["u32"] * len(columns))
    return [int(v) for v in call(text, "u32", ("u32",) * len(columns), columns)]


def brains(instruction, *columns):
    operands = ", ".join(f"%h{n}" for n in "abc"[: len(columns)])
    return words(f"{instruction} %h, {operands}; cvt.u32.u16 %r, %h;", *columns)


def is_nan(bits):
    return (bits & 0x7FFF) > 0x7F80


def test_bf16_is_rounded_once():
    """Also a product with a sum, for which float's precision is too little."""
    pairs = [(a, b) for a in BRAINS for b in BRAINS]
    a, b = (list(column) for column in zip(*pairs))
    c = [BRAINS[(7 * i) % len(BRAINS)] for i in range(len(pairs))]
    # Ties that a tiny addend decides.
    for x, y, z in ((0xB402, 0x77A0, 0xB406), (0x3F60, 0x3F92, 0x967C), (0x3F60, 0x3F92, 0x167C)):
        a.append(x), b.append(y), c.append(z)
    for instruction, exact in (
        ("add.rn.bf16", lambda x, y, z: x + y),
        ("sub.bf16", lambda x, y, z: x - y),
        ("mul.bf16", lambda x, y, z: x * y),
        ("fma.rn.bf16", lambda x, y, z: x * y + z),
    ):
        columns = (a, b, c) if instruction.startswith("fma") else (a, b)
        found = brains(instruction, *columns)
        compared = 0
        for x, y, z, bits in zip(a, b, c, found):
            values = [brain(v) for v in (x, y, z)][: len(columns)]
            if all(math.isfinite(v) for v in values):
                result = exact(*[Fraction(v) for v in values], *[None] * (3 - len(values)))
                if result != 0:
                    assert bits == nearest_brain(result), (instruction, hex(x), hex(y), hex(z), hex(bits))
                    compared += 1
                else:
                    assert bits & 0x7FFF == 0
            elif any(math.isnan(v) for v in values):
                assert bits == NAN
        assert compared > 200


def test_bf16_has_two_in_a_register_and_relu_and_extrema():
    a, b = [0x3F80BF80, 0x7FC14000, 0x80000000], [0x3F804000, 0x3F80C000, 0x00008000]
    assert words("add.rn.bf16x2 %r, %a, %b;", a, b) == [0x40003F80, 0x7FFF0000, 0x00000000]
    assert words("max.bf16x2 %r, %a, %b;", a, b) == [0x3F804000, 0x3F804000, 0x00000000]
    assert words("min.NaN.bf16x2 %r, %a, %b;", a, b) == [0x3F80BF80, 0x7FFFC000, 0x80008000]
    assert words("neg.bf16x2 %r, %a;", a) == [0xBF803F80, 0xFFC1C000, 0x00008000]
    assert words("abs.bf16x2 %r, %a;", a) == [0x3F803F80, 0x7FC14000, 0x00000000]
    assert words("fma.rn.relu.bf16x2 %r, %a, %b, %a;", a, b)[0] == 0x40000000


def test_bf16_is_compared():
    a, b = [0x3F80, 0xBF80, 0x7FC1, 0x0000], [0x3F81, 0xBF80, 0x3F80, 0x8000]
    for how, expected in (
        ("lt", [1, 0, 0, 0]),
        ("eq", [0, 1, 0, 1]),
        ("neu", [1, 0, 1, 0]),
        ("nan", [0, 0, 1, 0]),
    ):
        assert words(f"setp.{how}.bf16 %p, %ha, %hb; selp.u32 %r, 1, 0, %p;", a, b) == expected
        assert brains(f"set.{how}.bf16.bf16", a, b) == [0x3F80 * e for e in expected]
    pair = words("set.lt.bf16x2.bf16x2 %r, %a, %b;", [0x3F80BF80], [0x40003F00])
    assert pair == [0x3F803F80]


@pytest.mark.parametrize("direction", ["rn", "rz", "rm", "rp"])
def test_conversions_to_bf16_are_rounded_in_a_direction(direction):
    values = np.array(
        [1.00390625, 1.001, -1.001, 1.0117188, 3.4e38, -3.4e38, 1e-40, -1e-40, math.inf, 0.0, -0.0],
        np.float32,
    )
    found = words(f".reg .f32 %x; mov.b32 %x, %a; cvt.{direction}.bf16.f32 %h, %x; cvt.u32.u16 %r, %h;",
                  values.view(np.uint32))  # fmt: skip
    for value, bits in zip(values, found):
        exact = Fraction(float(value)) if math.isfinite(value) else None
        if exact is None or exact == 0:
            assert brain(bits) == value
            continue
        expected = nearest_brain(exact)
        if direction != "rn":
            toward_zero = direction == "rz" or (direction == "rm") == (value > 0)
            magnitude = next(n for n in range(0x7F80, -1, -1) if n == 0 or Fraction(brain(n) if n < 0x7F80 else 2**128) <= abs(exact))  # fmt: skip
            is_exact = magnitude < 0x7F80 and Fraction(brain(magnitude)) == abs(exact)
            expected = (magnitude if toward_zero or is_exact else magnitude + 1) | (
                0x8000 if value < 0 else 0
            )
        assert bits == expected, (direction, value, hex(bits), hex(expected))


def test_integers_become_bf16_and_back():
    integers = [0, 1, -1, 255, 257, 258, (1 << 31) - 1, -(1 << 31), 0x01010000, 0x01810000 + 1]
    found = words("cvt.rn.bf16.s32 %h, %a; cvt.u32.u16 %r, %h;", [n & 0xFFFFFFFF for n in integers])
    assert found == [nearest_brain(Fraction(n)) for n in integers]
    # 2^62 + 2^54 is a tie; one more is not.
    wide = [(1 << 62) + (1 << 54), (1 << 62) + (1 << 54) + 1, (1 << 63) - 1]
    text = function("{ .reg .b16 %h; cvt.rn.bf16.s64 %h, %a; cvt.u32.u16 %r, %h; }", "u32", "s64")
    assert [int(v) for v in call(text, "u32", ("s64",), [wide])] == [nearest_brain(Fraction(n)) for n in wide]
    found = words("cvt.rzi.s32.bf16 %r, %ha;", [0x4049, 0xC049, 0x7FC1, 0x7F80])
    assert found == [3, 0xFFFFFFFD, 0, 0x7FFFFFFF]
    assert brains("cvt.rni.bf16.bf16", [0x4020, 0x4060, 0xBF00]) == [0x4000, 0x4080, 0x8000]


def fp8_numbers(kind):
    """value of each code from 0 to 0x7F; None for NaN, infinity as such."""
    exponent_bits, bias = (4, 7) if kind == "e4m3" else (5, 15)
    fraction_bits = 7 - exponent_bits
    result = []
    for code in range(0x80):
        exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
        if kind == "e5m2" and exponent == 31:
            result.append(math.inf if fraction == 0 else None)
        elif kind == "e4m3" and code == 0x7F:
            result.append(None)
        elif exponent == 0:
            result.append(fraction * 2.0 ** (1 - bias - fraction_bits))
        else:
            result.append((1 + fraction / (1 << fraction_bits)) * 2.0 ** (exponent - bias))
    return result


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_every_fp8_is_read_and_written(kind):
    table = fp8_numbers(kind)
    codes = list(range(256))
    found = words(f"cvt.rn.f16x2.{kind}x2 %r, %ha;", [code << 8 | (255 - code) for code in codes])
    for code, pair in zip(codes, found):
        for byte, bits in ((code, pair >> 16), (255 - code, pair & 0xFFFF)):
            value = table[byte & 0x7F]
            assert (
                (bits == NAN)
                if value is None
                else half(bits) == math.copysign(value, -1 if byte & 0x80 else 1)
            )
    finite = [v for v in table if v is not None and math.isfinite(v)]
    between = [float(np.float32(x * f)) for x in finite for f in (1, 1.0625, 1.125, 1.1875)]
    values = np.array([*between, 1e30, math.inf, math.nan, 2.0**-30, 0.0], np.float32)
    both = (np.concatenate([values, -values])).view(np.uint32)
    found = words(f".reg .f32 %x, %y; mov.b32 %x, %a; mov.f32 %y, 0f3F800000; cvt.rn.satfinite.{kind}x2.f32 %h, %x, %y; cvt.u32.u16 %r, %h;", both)  # fmt: skip
    one = 0x38 if kind == "e4m3" else 0x3C
    for word, bits in zip(both, found):
        value = float(np.uint32(word).view(np.float32))
        assert bits & 0xFF == one
        if math.isnan(value):
            assert bits >> 8 == 0x7F
            continue
        magnitude = min(abs(value), finite[-1])
        best = min(range(len(finite)), key=lambda n: (abs(Fraction(finite[n]) - Fraction(magnitude)), n % 2))
        expected = best | (0x80 if math.copysign(1, value) < 0 else 0)
        assert bits >> 8 == expected, (kind, value, hex(bits))


def test_tf32_has_ten_bits_of_fraction():
    values = np.array(
        [0x3F800FFF, 0x3F801000, 0x3F803000, 0xBF801000, 0x7F7FFFFF, 0x7F800000, 0x7FC00001], np.uint32
    )
    read = ".reg .f32 %x; mov.b32 %x, %a; "
    assert words(read + "cvt.rna.tf32.f32 %r, %x;", values) == [0x3F800000, 0x3F802000, 0x3F804000, 0xBF802000, 0x7F800000, 0x7F800000, 0x7FFFFFFF]  # fmt: skip
    assert words(read + "cvt.rn.tf32.f32 %r, %x;", values)[:4] == [
        0x3F800000,
        0x3F800000,
        0x3F804000,
        0xBF800000,
    ]


def test_halves_are_saturated_and_fused():
    a, b = [0x3C00, 0x3800, 0xC000, 0x7E01], [0x3C00, 0x3400, 0x3C00, 0x3C00]
    assert brains("add.sat.f16", a, b) == [0x3C00, 0x3A00, 0x0000, 0x0000]
    assert brains("mul.sat.f16", a, b) == [0x3C00, 0x3000, 0x0000, 0x0000]
    assert brains("fma.rn.relu.f16", a, b, a) == [0x4000, 0x3900, 0x0000, NAN]
    # 1.0009765625 * 1.0009765625 is a tie of float16 plus a bit far below, which a tiny addend takes away.
    assert brains("fma.rn.f16", [0x3C01], [0x3C01], [0x8001]) == [0x3C02]
    assert brains("add.f16", [0x7E01], [0x3C00]) == [NAN]
    assert brains("max.xorsign.abs.f16", [0x4000, 0xC000], [0xBC00, 0xBC00]) == [0xC000, 0x4000]


def test_approximations_of_halves_and_bf16():
    """tanh and ex2, near to what they are named after."""
    x = np.array([0.5, -1.0, 3.0, 0.0], np.float16)
    found = brains("tanh.approx.f16", x.view(np.uint16))
    np.testing.assert_allclose([half(v) for v in found], np.tanh(x.astype(float)), rtol=2e-3)
    found = brains("ex2.approx.ftz.bf16", [0x3F80, 0xBF80, 0x4040])
    np.testing.assert_allclose([brain(v) for v in found], [2.0, 0.5, 8.0])
