"""Every instruction of PTX that is translated, against its definition in the PTX ISA written in Python's unbounded
integers or in NumPy."""

import itertools
import math

import numpy as np
import pytest
from ptx_programs import call, dtype_of, function

WORDS = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    255,
    256,
    0x7FFF,
    0xFFFF,
    0x12345678,
    0x7FFFFFFF,
    0x80000000,
    0x80000001,
    0xDEADBEEF,
    0xFFFFFFFE,
    0xFFFFFFFF,
]
LONGS = [
    *WORDS[:8],
    0xFFFFFFFF,
    1 << 32,
    0x123456789ABCDEF0,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 2,
    (1 << 64) - 1,
]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-30, -1e30, 7.25, math.inf, -math.inf, math.nan, 123456.789]


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def operands(kinds):
    """Columns of all combinations of operands; the third and fourth in step with the second."""
    pools = [
        np.array(REALS)
        if k[0] == "f"
        else [v & ((1 << int(k[1:])) - 1) for v in (LONGS if k.endswith("64") else WORDS)]
        for k in kinds
    ]
    rows = [(x,) for x in pools[0]]
    if len(kinds) > 1:
        rows = [(x, y) for x in pools[0] for y in pools[1]]
    for extra in range(2, len(kinds)):
        pool = pools[extra]
        rows = [(*row, pool[(7 * i + extra) % len(pool)]) for i, row in enumerate(rows)]
    columns = list(zip(*rows))
    return [
        np.array(c, dtype="float64" if k[0] == "f" else "uint64").astype(dtype_of(k))
        for c, k in zip(columns, kinds)
    ]


def shift_left(a, b):
    return a << b if b < 32 else 0


def bit_field(a, b, c, is_signed, width=32):
    start, length = b & 255, c & 255
    field = ((signed(a, width) if is_signed else a) >> start) & ((1 << length) - 1)
    if length == 0:
        return 0
    if not is_signed:
        return field
    top = min(start + length - 1, width - 1)
    return (
        signed(field & ((1 << (top - start + 1)) - 1 if top >= start else 0), max(top - start + 1, 1))
        if top >= start
        else (-1 if a >> (width - 1) else 0)
    )


def inserted(a, b, c, d):
    start, length = c & 255, d & 255
    mask = (((1 << length) - 1) << start) & 0xFFFFFFFF
    return (b & ~mask) | ((a << start) & mask)


def permuted(a, b, c):
    source = (b << 32) | a
    result = 0
    for i in range(4):
        digit = (c >> (4 * i)) & 15
        byte = (source >> (8 * (digit & 7))) & 255
        if digit & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << (8 * i)
    return result


def dot4(a, b, c):
    return c + sum(signed(a >> (8 * i), 8) * signed(b >> (8 * i), 8) for i in range(4))


def s24(v):
    return signed(v, 24)


# (instruction, result, parameters, meaning in unbounded integers of unsigned operands)
INTEGER = [
    ("add.u32 %r, %a, %b;", "u32", ("u32", "u32"), lambda a, b: a + b),
    ("add.s64 %r, %a, %b;", "s64", ("s64", "s64"), lambda a, b: a + b),
    ("add.sat.s32 %r, %a, %b;", "s32", ("s32", "s32"), lambda a, b: max(-(1 << 31), min((1 << 31) - 1, a + b))),
    ("sub.u32 %r, %a, %b;", "u32", ("u32", "u32"), lambda a, b: a - b),
    ("sub.sat.s32 %r, %a, %b;", "s32", ("s32", "s32"), lambda a, b: max(-(1 << 31), min((1 << 31) - 1, a - b))),
    ("mul.lo.s32 %r, %a, %b;", "s32", ("s32", "s32"), lambda a, b: a * b),
    ("mul.hi.u32 %r, %a, %b;", "u32", ("u32", "u32"), lambda a, b: (a * b) >> 32),
    ("mul.hi.s32 %r, %a, %b;", "s32", ("s32", "s32"), lambda a, b: (a * b) >> 32),
    ("mul.hi.u64 %r, %a, %b;", "u64", ("u64", "u64"), lambda a, b: (a * b) >> 64),
    ("mul.wide.s32 %r, %a, %b;", "s64", ("s32", "s32"), lambda a, b: a * b),
    ("mul.wide.u32 %r, %a, %b;", "u64", ("u32", "u32"), lambda a, b: a * b),
    ("mad.lo.s32 %r, %a, %b, %c;", "s32", ("s32", "s32", "s32"), lambda a, b, c: a * b + c),
    ("mad.hi.u32 %r, %a, %b, %c;", "u32", ("u32", "u32", "u32"), lambda a, b, c: ((a * b) >> 32) + c),
    ("mad.wide.u32 %r, %a, %b, %c;", "u64", ("u32", "u32", "u64"), lambda a, b, c: a * b + c),
    ("mul24.lo.u32 %r, %a, %b;", "u32", ("u32", "u32"), lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    ("mul24.hi.s32 %r, %a, %b;", "s32", ("s32", "s32"), lambda a, b: (s24(a) * s24(b)) >> 16),
    ("mad24.lo.s32 %r, %a, %b, %c;", "s32", ("s32", "s32", "s32"), lambda a, b, c: s24(a) * s24(b) + c),
    ("mad24.hi.sat.s32 %r, %a, %b, %c;", "s32", ("s32", "s32", "s32"), lambda a, b, c: max(-(1 << 31), min((1 << 31) - 1, signed(s24(a) * s24(b) >> 16, 32) + c))),
    ("sad.s32 %r, %a, %b, %c;", "s32", ("s32", "s32", "s32"), lambda a, b, c: abs(a - b) + c),
    ("sad.u32 %r, %a, %b, %c;", "u32", ("u32", "u32", "u32"), lambda a, b, c: abs(a - b) + c),
    ("dp4a.s32.s32 %r, %a, %b, %c;", "s32", ("s32", "s32", "s32"), dot4),
    ("abs.s32 %r, %a;", "s32", ("s32",), abs),
    ("neg.s64 %r, %a;", "s64", ("s64",), lambda a: -a),
    ("min.s32 %r, %a, %b;", "s32", ("s32", "s32"), min),
    ("max.u64 %r, %a, %b;", "u64", ("u64", "u64"), max),
    ("add.cc.u32 %t0, %a, %b;\naddc.u32 %r, %c, 0;", "u32", ("u32", "u32", "u32"), lambda a, b, c: c + ((a + b) >> 32)),
    ("sub.cc.u32 %t0, %a, %b;\nsubc.u32 %r, %c, 0;", "u32", ("u32", "u32", "u32"), lambda a, b, c: c - (a < b)),
    ("mad.lo.cc.u32 %t0, %a, %b, %c;\nmadc.hi.u32 %r, %a, %b, 0;", "u32", ("u32", "u32", "u32"), lambda a, b, c: (a * b + c) >> 32),
    ("and.b32 %r, %a, %b;", "b32", ("b32", "b32"), lambda a, b: a & b),
    ("or.b64 %r, %a, %b;", "b64", ("b64", "b64"), lambda a, b: a | b),
    ("xor.b32 %r, %a, %b;", "b32", ("b32", "b32"), lambda a, b: a ^ b),
    ("not.b32 %r, %a;", "b32", ("b32",), lambda a: ~a),
    ("cnot.b32 %r, %a;", "b32", ("b32",), lambda a: int(a == 0)),
    ("shl.b32 %r, %a, %b;", "b32", ("b32", "u32"), shift_left),
    ("shr.u32 %r, %a, %b;", "u32", ("u32", "u32"), lambda a, b: a >> b if b < 32 else 0),
    ("shr.s32 %r, %a, %b;", "s32", ("s32", "u32"), lambda a, b: a >> min(b, 31)),
    ("shr.s64 %r, %a, %b;", "s64", ("s64", "u32"), lambda a, b: a >> min(b, 63)),
    ("shf.l.wrap.b32 %r, %a, %b, %c;", "b32", ("b32", "b32", "u32"), lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32),
    ("shf.l.clamp.b32 %r, %a, %b, %c;", "b32", ("b32", "b32", "u32"), lambda a, b, c: ((b << 32 | a) << min(c, 32)) >> 32),
    ("shf.r.clamp.b32 %r, %a, %b, %c;", "b32", ("b32", "b32", "u32"), lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    ("lop3.b32 %r, %a, %b, %c, 0xE8;", "b32", ("b32", "b32", "b32"), lambda a, b, c: (a & b) | (a & c) | (b & c)),
    ("lop3.b32 %r, %a, %b, %c, 0x2D;", "b32", ("b32", "b32", "b32"), lambda a, b, c: _lop3(a, b, c, 0x2D)),
    ("bfe.u32 %r, %a, %b, %c;", "u32", ("u32", "u32", "u32"), lambda a, b, c: bit_field(a, b, c, False)),
    ("bfe.s32 %r, %a, %b, %c;", "s32", ("u32", "u32", "u32"), lambda a, b, c: bit_field(a, b, c, True)),
    ("bfi.b32 %r, %a, %b, %c, %d;", "b32", ("b32", "b32", "u32", "u32"), inserted),
    ("bfind.u32 %r, %a;", "u32", ("u32",), lambda a: a.bit_length() - 1),
    ("bfind.s32 %r, %a;", "u32", ("s32",), lambda a: (a if a >= 0 else ~a).bit_length() - 1),
    ("bfind.shiftamt.u32 %r, %a;", "u32", ("u32",), lambda a: 32 - a.bit_length() if a else -1),
    ("brev.b32 %r, %a;", "b32", ("b32",), lambda a: int(f"{a:032b}"[::-1], 2)),
    ("popc.b64 %r, %a;", "u32", ("b64",), lambda a: bin(a).count("1")),
    ("clz.b32 %r, %a;", "u32", ("b32",), lambda a: 32 - a.bit_length()),
    ("prmt.b32 %r, %a, %b, %c;", "b32", ("b32", "b32", "b32"), permuted),
    ("setp.lt.s32 %p, %a, %b;\nselp.u32 %r, 1, 0, %p;", "u32", ("s32", "s32"), lambda a, b: int(a < b)),
    ("setp.lo.u32 %p, %a, %b;\nselp.u32 %r, 1, 0, %p;", "u32", ("u32", "u32"), lambda a, b: int(a < b)),
    ("setp.hs.s32 %p, %a, %b;\nselp.u32 %r, 1, 0, %p;", "u32", ("u32", "u32"), lambda a, b: int(a >= b)),
    ("setp.ne.u32 %q, %c, 0;\nsetp.eq.or.u32 %p, %a, %b, %q;\nselp.u32 %r, 5, 6, %p;", "u32", ("u32", "u32", "u32"), lambda a, b, c: 5 if a == b or c else 6),
    ("setp.ge.u32 %p|%q, %a, %b;\nselp.u32 %t0, 1, 0, %p;\nselp.u32 %r, 2, %t0, %q;", "u32", ("u32", "u32"), lambda a, b: 1 if a >= b else 2),
    ("set.gt.u32.s32 %r, %a, %b;", "u32", ("s32", "s32"), lambda a, b: -int(a > b)),
    ("slct.u32.s32 %r, %a, %b, %c;", "u32", ("u32", "u32", "s32"), lambda a, b, c: a if c >= 0 else b),
    ("setp.eq.u32 %p, %a, %b;\nmov.u32 %r, 9;\n@%p mov.u32 %r, 4;", "u32", ("u32", "u32"), lambda a, b: 4 if a == b else 9),
    ("setp.eq.u32 %p, %a, %b;\nmov.u32 %r, 9;\n@!%p mov.u32 %r, 4;", "u32", ("u32", "u32"), lambda a, b: 9 if a == b else 4),
    ("cvt.s32.s8 %r, %a;", "s32", ("s32",), lambda a: signed(a, 8)),
    ("cvt.u32.u16 %r, %a;", "u32", ("u32",), lambda a: a & 0xFFFF),
    ("cvt.s64.s32 %r, %a;", "s64", ("s32",), lambda a: a),
    ("cvt.sat.u8.s32 %t0, %a;\nmov.b32 %r, %t0;", "u32", ("s32",), lambda a: max(0, min(255, a))),
    ("cvt.sat.s32.s64 %r, %a;", "s32", ("s64",), lambda a: max(-(1 << 31), min((1 << 31) - 1, a))),
    ("mov.b64 %r, {%a, %b};", "u64", ("u32", "u32"), lambda a, b: b << 32 | a),
    ("mov.b64 {%t0, %r}, %a;", "u32", ("u64",), lambda a: a >> 32),
    ("mov.u32 %r, 0x1F;\n{ .reg .u32 %r;\nmov.u32 %r, 5; }", "u32", ("u32",), lambda a: 31),
]  # fmt: skip


def _lop3(a, b, c, table):
    return sum(
        (table >> (((a >> i & 1) << 2) | ((b >> i & 1) << 1) | (c >> i & 1)) & 1) << i for i in range(32)
    )


def as_python(columns):
    return [[int(v) for v in column] for column in columns]


@pytest.mark.parametrize(
    "body, result, parameters, meaning", INTEGER, ids=[row[0].split("\n")[-1] for row in INTEGER]
)
def test_integer_instruction(body, result, parameters, meaning):
    columns = operands(parameters)
    found = call(function(body, result, *parameters), result, parameters, columns)
    mask = (1 << int(result[1:])) - 1
    expected = [meaning(*row) & mask for row in zip(*as_python(columns))]
    assert [int(v) & mask for v in found] == expected


@pytest.mark.parametrize("name", ["div.u32", "rem.u32", "div.s32", "rem.s32"])
def test_division_truncates(name):
    kind = name[-3:]
    a, b = operands((kind, kind))
    a, b = a[b != 0], b[b != 0]
    found = call(function(f"{name} %r, %a, %b;", kind, kind, kind), kind, (kind, kind), [a, b])
    for x, y, value in zip(map(int, a), map(int, b), map(int, found)):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        expected = quotient if name.startswith("div") else x - quotient * y
        assert value == (signed(expected, 32) if kind == "s32" else expected)


F = np.float32
with np.errstate(all="ignore"):
    REAL = [
        ("add.f32 %r, %a, %b;", "f32", ("f32", "f32"), lambda a, b: a + b),
        ("sub.rn.f64 %r, %a, %b;", "f64", ("f64", "f64"), lambda a, b: a - b),
        ("mul.f32 %r, %a, %b;", "f32", ("f32", "f32"), lambda a, b: a * b),
        ("div.rn.f32 %r, %a, %b;", "f32", ("f32", "f32"), lambda a, b: a / b),
        ("fma.rn.f64 %r, %a, %b, %c;", "f64", ("f64", "f64", "f64"), None),
        ("add.sat.f32 %r, %a, %b;", "f32", ("f32", "f32"), lambda a, b: np.where(np.isnan(a + b), F(0), np.clip(a + b, F(0), F(1)))),
        ("neg.f32 %r, %a;", "f32", ("f32",), lambda a: -a),
        ("abs.f64 %r, %a;", "f64", ("f64",), np.abs),
        ("min.f32 %r, %a, %b;", "f32", ("f32", "f32"), np.fmin),
        ("max.f64 %r, %a, %b;", "f64", ("f64", "f64"), np.fmax),
        ("max.NaN.f32 %r, %a, %b;", "f32", ("f32", "f32"), np.maximum),
        ("sqrt.rn.f32 %r, %a;", "f32", ("f32",), np.sqrt),
        ("rcp.rn.f64 %r, %a;", "f64", ("f64",), lambda a: 1 / a),
        ("copysign.f32 %r, %a, %b;", "f32", ("f32", "f32"), lambda a, b: np.copysign(b, a)),
        ("mov.f32 %r, 0f3FC00000;", "f32", ("f32",), lambda a: np.full_like(a, 1.5)),
        ("mov.f64 %r, 0d3FF8000000000000;", "f64", ("f64",), lambda a: np.full_like(a, 1.5)),
        ("add.f64 %r, %a, 2.5;", "f64", ("f64",), lambda a: a + 2.5),
        ("cvt.rni.f32.f32 %r, %a;", "f32", ("f32",), np.rint),
        ("cvt.rmi.f64.f64 %r, %a;", "f64", ("f64",), np.floor),
        ("cvt.rpi.f64.f64 %r, %a;", "f64", ("f64",), np.ceil),
        ("cvt.rzi.f64.f64 %r, %a;", "f64", ("f64",), np.trunc),
        ("cvt.rn.f32.f64 %r, %a;", "f32", ("f64",), lambda a: a.astype(np.float32)),
        ("cvt.f64.f32 %r, %a;", "f64", ("f32",), lambda a: a.astype(np.float64)),
        ("slct.f32.f32 %r, %a, %b, %c;", "f32", ("f32", "f32", "f32"), lambda a, b, c: np.where(c >= 0, a, b)),
        ("set.lt.f32.f64 %r, %a, %b;", "f32", ("f64", "f64"), lambda a, b: (a < b).astype(np.float32)),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body, result, parameters, meaning", REAL, ids=[row[0] for row in REAL])
def test_real_instruction(body, result, parameters, meaning):
    columns = operands(parameters)
    found = call(function(body, result, *parameters), result, parameters, columns)
    if meaning is None:
        meaning = np.vectorize(lambda a, b, c: _fused(a, b, c))
    with np.errstate(all="ignore"):
        expected = np.asarray(meaning(*columns), found.dtype)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected) & ~(("min" in body) | ("max" in body))
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def _fused(a, b, c):
    from fractions import Fraction

    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return float(exact) if exact else a * b + c


COMPARISONS = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: (a < b) | (a > b), "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "equ": lambda a, b: ~((a < b) | (a > b)), "neu": lambda a, b: a != b,
    "ltu": lambda a, b: ~(a >= b), "leu": lambda a, b: ~(a > b), "gtu": lambda a, b: ~(a <= b), "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison_of_real_numbers(name):
    columns = operands(("f32", "f32"))
    found = call(
        function(f"setp.{name}.f32 %p, %a, %b;\nselp.u32 %r, 1, 0, %p;", "u32", "f32", "f32"),
        "u32",
        ("f32", "f32"),
        columns,
    )
    assert np.array_equal(found, COMPARISONS[name](*columns).astype(np.uint32))


@pytest.mark.parametrize("name, meaning", [("finite", np.isfinite), ("infinite", np.isinf), ("notanumber", np.isnan),
                                           ("number", lambda a: ~np.isnan(a)), ("normal", lambda a: np.isfinite(a) & ((a == 0) | (np.abs(a) > 1.1e-38))), ("subnormal", lambda a: (a != 0) & (np.abs(a) < 1.2e-38))])  # fmt: skip
def test_class_of_a_number(name, meaning):
    values = np.array([*REALS, 1e-40], np.float32)
    found = call(
        function(f"testp.{name}.f32 %p, %a;\nselp.u32 %r, 1, 0, %p;", "u32", "f32"), "u32", ("f32",), [values]
    )
    assert np.array_equal(found, meaning(values).astype(np.uint32))


@pytest.mark.parametrize("how", ["rz", "rm", "rp", "rn.sat", "rp.sat", "rz.ftz"])
def test_mad_of_real_numbers_is_fma(how):
    """1 + 2^-12 squared, and 3 - 2^-20 by 1 + 2^-12: sums that no float32 holds."""
    values = [1 + 2.0**-12, -1 - 2.0**-12, 3 - 2.0**-20, 0.125, math.nan, 1e-39]
    columns = [np.array(column, np.float32) for column in zip(*itertools.product(values, repeat=3))]
    found, fused, nearest = (
        call(function(f"{name}.f32 %r, %a, %b, %c;", *["f32"] * 4), "f32", ("f32",) * 3, columns).view(
            np.uint32
        )
        for name in (f"mad.{how}", f"fma.{how}", "fma.rn")
    )
    assert np.array_equal(found, fused) and not np.array_equal(found, nearest)


def test_slct_flushes_what_it_compares_alone():
    """-1e-39 counts as 0."""
    columns = [np.array(column, np.float32) for column in ([1e-39, 1e-39], [-2e-39, -2e-39], [-1e-39, -1])]
    found = call(function("slct.ftz.f32.f32 %r, %a, %b, %c;", *["f32"] * 4), "f32", ("f32",) * 3, columns)
    assert np.array_equal(found, np.array([1e-39, -2e-39], np.float32))


@pytest.mark.parametrize("to", ["s32", "u32", "s64", "u64"])
def test_a_real_number_becomes_the_nearest_integer_that_there_is(to):
    values = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, 1e20, -1e20, math.inf, -math.inf, math.nan, 2147483647.0, -2147483648.5]
    )
    limits = np.iinfo(dtype_of(to))
    found = call(function(f"cvt.rni.{to}.f64 %r, %a;", to, "f64"), to, ("f64",), [values])
    of_nan = limits.min if to[0] == "s" else limits.max // 2 + 1
    expected = [of_nan if math.isnan(v) else limits.max if v == math.inf else limits.min if v == -math.inf
                else max(limits.min, min(limits.max, round(v))) for v in values.tolist()]  # fmt: skip
    assert [int(v) for v in found] == [int(v) for v in expected]


@pytest.mark.parametrize("name, meaning", [("rsqrt.approx.f32", lambda a: 1 / np.sqrt(a)), ("sin.approx.f32", np.sin), ("cos.approx.f32", np.cos),
                                           ("lg2.approx.f32", np.log2), ("ex2.approx.f32", np.exp2), ("tanh.approx.f32", np.tanh)])  # fmt: skip
def test_approximate_functions(name, meaning):
    values = np.linspace(0.1, 5, 40, dtype=np.float32)
    found = call(function(f"{name} %r, %a;", "f32", "f32"), "f32", ("f32",), [values])
    circular = name.startswith(("sin", "cos"))  # within 2^-20.9 (PTX ISA)
    np.testing.assert_allclose(
        found, meaning(values.astype(np.float64)), rtol=3e-7, atol=2**-20.9 if circular else 1e-7
    )


def test_half_precision():
    body = (
        "{ .reg .f16 %h0, %h1;\ncvt.rn.f16.f32 %h0, %a;\ncvt.rn.f16.f32 %h1, %b;\nfma.rn.f16 %h0, %h0, %h1, %h1;\n"
        "cvt.f32.f16 %r, %h0; }"
    )
    a, b = np.linspace(-3, 3, 50, dtype=np.float32), np.linspace(1, 2, 50, dtype=np.float32)
    found = call(function(body, "f32", "f32", "f32"), "f32", ("f32", "f32"), [a, b])
    x, y = a.astype(np.float16).astype(np.float64), b.astype(np.float16).astype(np.float64)
    assert np.array_equal(found, (x * y + y).astype(np.float16).astype(np.float32))


TINY = np.array(
    [1e-40, -1e-40, 1.2e-38, -1.2e-38, 1e-45, 0.0, -0.0, 1.0, -3.0, math.inf, math.nan], np.float32
)


def flushed(values):
    values = np.asarray(values, np.float32)
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), values), values)


@pytest.mark.parametrize("name, meaning", [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div.rn", np.divide),
                                           ("min", np.fmin), ("max", np.fmax)])  # fmt: skip
def test_subnormal_numbers_are_flushed_where_ftz_says_so(name, meaning):
    a, b = (column.ravel() for column in np.meshgrid(TINY, TINY))
    with np.errstate(all="ignore"):
        for ftz in ("", ".ftz"):
            found = call(
                function(f"{name}{ftz}.f32 %r, %a, %b;", "f32", "f32", "f32"), "f32", ("f32", "f32"), [a, b]
            )
            expected = flushed(meaning(flushed(a), flushed(b))) if ftz else meaning(a, b)
            assert np.array_equal(found, expected, equal_nan=True)
            numbers = ~np.isnan(expected) & (expected != 0 if name in ("min", "max") else True)
            assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_comparisons_and_conversions_flush_too():
    body = "setp.gt.ftz.f32 %p, %a, 0f00000000;\ncvt.ftz.f64.f32 %w0, %a;\nselp.f64 %r, 0d3FF0000000000000, %w0, %p;"
    found = call(
        function(body.replace("%w0", "%d").join(("{ .reg .f64 %d;\n", " }")), "f64", "f32"),
        "f64",
        ("f32",),
        [TINY[:9]],
    )
    assert found.tolist() == [0, 0, 1, float(TINY[3]), 0, 0, 0, 1, -3]
    narrowed = call(
        function("cvt.rn.ftz.f32.f64 %r, %a;", "f32", "f64"), "f32", ("f64",), [[1e-40, -1e-40, 2.0]]
    )
    assert narrowed.tolist() == [0, 0, 2] and np.signbit(narrowed[1])


def test_pairs_of_halves():
    halves = (
        "{ .reg .f16x2 %x, %y;\n.reg .b32 %z;\ncvt.rn.f16x2.f32 %x, %a, %b;\ncvt.rn.f16x2.f32 %y, %b, %b;\n"
    )
    a, b = np.float32([1.0, 2.0, 70000.0, 0.1]), np.float32([1.5, 1.5, 1.5, 0.1])

    def run(body, kind):
        return call(function(halves + body + " }", kind, "f32", "f32"), kind, ("f32", "f32"), [a, b])

    with np.errstate(over="ignore"):
        high, low = a.astype(np.float16), b.astype(np.float16)
    bits = high.view(np.uint16).astype(np.uint32) << 16 | low.view(np.uint16)
    assert np.array_equal(run("mov.b32 %r, %x;", "u32"), bits)
    assert np.array_equal(run("set.gt.u32.f16x2 %r, %x, %y;", "u32"), np.where(high > low, 0xFFFF0000, 0))
    assert np.array_equal(
        run("set.le.f16x2.f16x2 %z, %x, %y;\nmov.b32 %r, %z;", "u32"),
        np.where(high <= low, 0x3C003C00, 0x3C00),
    )
    assert np.array_equal(
        run("setp.ge.f16x2 %p|%q, %x, %y;\nselp.u32 %r, 1, 0, %p;\n@%q add.u32 %r, %r, 10;", "u32"),
        np.where(high >= low, 11, 1),
    )


def test_asynchronous_copies_are_done_at_once():
    text = function(
        """
        mov.u32 %t0, %tid.x;
        mul.wide.u32 %w0, %t0, 16;
        mov.u64 %w1, tile;
        add.u64 %w1, %w1, %w0;
        mov.u64 %w2, source;
        add.u64 %w2, %w2, %w0;
        cp.async.cg.shared.global [%w1], [%w2], 16;
        cp.async.commit_group;
        cp.async.wait_group 0;
        ld.shared.u32 %t1, [%w1+12];
        cp.async.ca.shared.global [%w1], [%w2], 8, %a;
        cp.async.wait_all;
        ld.shared.u32 %t2, [%w1];
        ld.shared.u32 %t3, [%w1+4];
        mad.lo.u32 %r, %t1, 100, %t2;
        mad.lo.u32 %r, %t1, 100, %t2;
        mad.lo.u32 %r, %r, 100, %t3;""",
        "u32",
        "u32",
    )
    numbers = ", ".join(str(n + 1) for n in range(16))
    text = text.replace(
        ".visible",
        f".shared .align 16 .b8 tile[64];\n.global .align 16 .u32 source[16] = {{{numbers}}};\n.visible",
    )
    expected = [(4 + 4 * i) * 10000 + (1 + 4 * i) * 100 * (i > 0) + (2 + 4 * i) * (i > 1) for i in range(4)]
    assert call(text, "u32", ("u32",), [[0, 4, 8, 99]]).tolist() == expected


def test_spaces_of_generic_addresses():
    text = function(
        """
        { .local .align 4 .b8 own[8];
        .reg .pred %g, %s, %l;
        mov.u64 %w0, own;
        cvta.local.u64 %w0, %w0;
        mov.u64 %w1, tile;
        cvta.shared.u64 %w1, %w1;
        mov.u64 %w2, held;
        cvta.global.u64 %w2, %w2;
        setp.eq.u32 %p, %a, 1;
        selp.b64 %w3, %w1, %w0, %p;
        setp.eq.u32 %p, %a, 2;
        selp.b64 %w3, %w2, %w3, %p;
        st.u32 [%w3], %a;
        isspacep.global %g, %w3;
        isspacep.shared %s, %w3;
        isspacep.local %l, %w3;
        selp.u32 %r, 1, 0, %g;
        @%s add.u32 %r, %r, 10;
        @%l add.u32 %r, %r, 100;
        bar.sync 0; }""",
        "u32",
        "u32",
    )
    text = text.replace(".visible", ".shared .align 4 .b8 tile[64];\n.global .align 4 .u32 held;\n.visible")
    which = np.arange(32) % 3
    for carried_over_a_barrier in (text, text.replace("bar.sync 0;", "")):
        assert np.array_equal(
            call(carried_over_a_barrier, "u32", ("u32",), [which]), np.array([100, 10, 1])[which]
        )


def test_clocks_go_on():
    body = "mov.u64 %w0, %clock64;\nmov.u32 %t0, %clock;\nmov.u64 %w1, %globaltimer;\nmov.u64 %w2, %clock64;\nsetp.ge.u64 %p, %w2, %w0;\nselp.u32 %r, 1, 0, %p;"
    assert call(function(body, "u32"), "u32", (), [], threads=2).tolist() == [1, 1]
    assert call(function("mov.u32 %r, %nwarpid;", "u32"), "u32", (), [], threads=64).tolist() == [2] * 64


def test_atomic_operations_on_16_bits():
    text = function(
        """
        { .reg .b16 %old, %one, %two;
        .reg .f16 %h;
        mov.u16 %one, 5;
        mov.u16 %two, 9;
        atom.global.cas.b16 %old, [held+2], %one, %two;
        cvt.u32.u16 %r, %old;
        cvt.rn.f16.f32 %h, 0f3F000000;
        atom.global.add.noftz.f16 %h, [half+2], %h;
        bar.sync 0;
        ld.global.u16 %one, [half+2];
        cvt.u32.u16 %t0, %one;
        mad.lo.u32 %r, %t0, 100, %r; }""",
        "u32",
    )
    text = text.replace(
        ".visible", ".global .align 4 .u16 held[4] = {1, 5, 3};\n.global .align 4 .u16 half[4];\n.visible"
    )
    found = call(text, "u32", (), [], threads=8)
    total = int(np.float16(4).view(np.uint16)) * 100
    assert sorted(found.tolist()) == [total + 5] + [total + 9] * 7


def test_numbers_in_every_notation():
    body = """
        { .reg .f32 %f; .reg .f64 %d;
        mov.f32 %f, -1.5;
        add.f32 %f, %f, 0fBF000000;
        add.f32 %f, %f, -0f40000000;
        ld.const.f32 %r, [weights+4];
        add.f32 %f, %f, %r;
        ld.const.f64 %d, [wide];
        cvt.rn.f32.f64 %r, %d;
        add.f32 %r, %r, %f; }"""
    text = function(body, "f32").replace(
        ".visible",
        ".const .align 4 .f32 weights[2] = {0f3F800000, -2.25};\n.const .align 8 .f64 wide = -1e3;\n.visible",
    )
    assert call(text, "f32", (), [], threads=1).tolist() == [-1.5 - 0.5 - 2 - 2.25 - 1000]
