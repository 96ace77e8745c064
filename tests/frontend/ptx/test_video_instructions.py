"""Instructions on parts of words: the video instructions, integers of 16 bits in pairs, prmt's modes, fns, bmsk, szext."""

import random

import pytest
from ptx_programs import call, function

random.seed(4)
EDGES = [0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x80008000, 0x7FFF7FFF, 0x01FF807F]
A = [*EDGES, *(random.getrandbits(32) for _ in range(57))]
B = [*reversed(EDGES), *(random.getrandbits(32) for _ in range(57))]
C = [random.getrandbits(32) for _ in A]


def words(body, *columns):
    text = function(body, "u32", *["u32"] * len(columns))
    return [int(v) for v in call(text, "u32", ("u32",) * len(columns), columns)]


def lanes(word, width, signed=False):
    parts = [word >> i & ((1 << width) - 1) for i in range(0, 32, width)]
    return [p - (1 << width) if signed and p >> (width - 1) else p for p in parts]


def joined(parts, width):
    return sum((p & ((1 << width) - 1)) << (width * i) for i, p in enumerate(parts))


def saturated(value, low, high):
    return min(max(value, low), high)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": min,
    "max": max,
    "absdiff": lambda a, b: abs(a - b),
    "avrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
}


@pytest.mark.parametrize("count, width", [(2, 16), (4, 8)])
@pytest.mark.parametrize("name", OPERATIONS)
def test_lanes(name, count, width):
    for kind in ("u32", "s32"):
        signed = kind == "s32"
        for sat in ("", ".sat"):
            low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
            found = words(f"v{name}{count}.{kind}.{kind}.{kind}{sat} %r, %a, %b, %c;", A, B, C)
            for a, b, value in zip(A, B, found):
                parts = [
                    OPERATIONS[name](x, y) for x, y in zip(lanes(a, width, signed), lanes(b, width, signed))
                ]
                if sat:
                    parts = [saturated(p, low, high) for p in parts]
                assert value == joined(parts, width), (name, kind, sat, hex(a), hex(b))


def test_sums_of_lanes_and_comparisons():
    found = words("vabsdiff4.u32.u32.u32.add %r, %a, %b, %c;", A, B, C)
    assert found == [
        (c + sum(abs(x - y) for x, y in zip(lanes(a, 8), lanes(b, 8)))) & 0xFFFFFFFF
        for a, b, c in zip(A, B, C)
    ]
    found = words("vset4.s32.s32.ge %r, %a, %b, %c;", A, B, C)
    assert found == [
        joined([x >= y for x, y in zip(lanes(a, 8, True), lanes(b, 8, True))], 8) for a, b in zip(A, B)
    ]


def test_selectors_and_masks():
    assert words("vadd4.u32.u32.u32 %r.b20, %a.b0123, %b.b7777, %c;", [0x04030201], [0x10203040], [0xAABBCCDD]) == [0xAA12CC14]  # fmt: skip
    assert words("vsub2.s32.s32.s32 %r.h1, %a.h01, %b, %c;", [0x00050007], [0x00010002], [0x11112222]) == [
        0x00062222
    ]


def test_one_part():
    assert words("vadd.s32.s32.u32 %r, %a.b1, %b.h1;", [0x0000FF00], [0x00050000]) == [4]
    assert words("vadd.s32.s32.s32.sat %r.b2, %a, %b, %c;", [100], [100], [0x11223344]) == [0x117F3344]
    assert words("vmax.u32.u32.u32.add %r, %a, %b, %c;", [3], [9], [10]) == [19]
    assert words("vshl.u32.u32.u32.clamp %r, %a, %b;", [3, 3], [4, 40]) == [48, 0]
    assert words("vset.s32.u32.lt %r, %a, %b;", [0xFFFFFFFF, 4], [0, 4]) == [1, 0]
    assert words("vmad.s32.s32.s32.shr7 %r, %a.h0, %b.h0, %c;", [0xFFFE], [256], [0]) == [0xFFFFFFFC]


def test_pairs_of_integers():
    found = words("add.u16x2 %r, %a, %b;", A, B)
    assert found == [joined([x + y for x, y in zip(lanes(a, 16), lanes(b, 16))], 16) for a, b in zip(A, B)]
    found = words("max.s16x2.relu %r, %a, %b;", A, B)
    assert found == [joined([max(x, y, 0) for x, y in zip(lanes(a, 16, True), lanes(b, 16, True))], 16) for a, b in zip(A, B)]  # fmt: skip
    assert words("min.s32.relu %r, %a, %b;", [0xFFFFFFFE, 5], [7, 9]) == [0, 5]


def test_dot_products_of_halves_with_bytes():
    for half, first in (("lo", 0), ("hi", 2)):
        found = words(f"dp2a.{half}.s32.u32 %r, %a, %b, %c;", A, B, C)
        expected = [
            c + sum(x * y for x, y in zip(lanes(a, 16, True), lanes(b, 8)[first:]))
            for a, b, c in zip(A, B, C)
        ]
        assert found == [e & 0xFFFFFFFF for e in expected]


@pytest.mark.parametrize("mode, digits", [("f4e", [0x3210, 0x4321, 0x5432, 0x6543]), ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
                                          ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]), ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
                                          ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]), ("rc16", [0x1010, 0x3232, 0x1010, 0x3232])])  # fmt: skip
def test_modes_of_prmt(mode, digits):
    a, b = 0x44332211, 0x88776655
    found = words(f"prmt.b32.{mode} %r, %a, %b, %c;", [a] * 4, [b] * 4, [0, 1, 2, 7])
    together = lanes(a, 8) + lanes(b, 8)
    assert found == [joined([together[d >> (4 * i) & 7] for i in range(4)], 8) for d in digits]


def nth_set_bit(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    step = 1 if offset > 0 else -1
    left = abs(offset)
    for place in range(base, 32 if step > 0 else -1, step):
        left -= mask >> place & 1
        if left == 0 and mask >> place & 1:
            return place
    return 0xFFFFFFFF


def test_fns():
    cases = [(m, b, o) for m in (0, 0xFFFFFFFF, 0x80000001, 0x12345678) for b in (0, 3, 17, 31) for o in (0, 1, 2, 5, 32, 33, -1, -2, -4, -32)]  # fmt: skip
    m, b, o = zip(*cases)
    found = words("fns.b32 %r, %a, %b, %c;", m, b, [x & 0xFFFFFFFF for x in o])
    assert found == [nth_set_bit(*case) for case in cases]


def test_masks_extensions_and_logic_with_a_predicate():
    assert words("bmsk.clamp.b32 %r, %a, %b;", [4, 0, 31, 40], [8, 32, 1, 4]) == [
        0xFF0,
        0xFFFFFFFF,
        0x80000000,
        0,
    ]
    assert words("bmsk.wrap.b32 %r, %a, %b;", [36], [33]) == [0x10]
    assert words("szext.clamp.s32 %r, %a, %b;", [0xFF, 0x7F, 5, 5], [8, 8, 0, 32]) == [0xFFFFFFFF, 0x7F, 0, 5]
    assert words("szext.wrap.u32 %r, %a, %b;", [0x1FF, 0x1FF], [8, 32]) == [0xFF, 0]
    body = "setp.ne.u32 %q, %c, 0; lop3.or.b32 %r|%p, %a, %b, %c, 0x80, %q; selp.u32 %t0, 256, 0, %p; add.u32 %r, %r, %t0;"
    assert words(body, [7, 3, 4], [7, 5, 8], [0, 1, 0]) == [0, 257, 0]
