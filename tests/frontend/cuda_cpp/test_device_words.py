"""Integer functions and SIMD in a word, on the device, against formulas on Python's integers."""

import pathlib
import re

from cuda_programs import needs_clang, output_of

pytestmark = needs_clang

PROGRAM = pathlib.Path(__file__).parent / "programs" / "word_functions.cu"


def signed(value, bits=32):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def lanes(word, bits, is_signed):
    parts = [word >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [signed(part, bits) for part in parts] if is_signed else parts


def word_of(values, bits):
    return sum((value & ((1 << bits) - 1)) << (bits * lane) for lane, value in enumerate(values))


def clamped(value, bits, is_signed):
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return max(lowest, min(highest, value))


def away_from_zero(total):
    return (total + 1) // 2 if total >= 0 else total // 2


COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
}


def simd(name, a, b):
    """__v<operation><2 or 4>."""
    operation, bits = name[3:-1], 32 // int(name[-1])
    compared = re.fullmatch(r"(cmp|set)(eq|ne|ge|gt|le|lt)([su]?)", operation)
    if compared:
        yes = -1 if compared[1] == "cmp" else 1
        pairs = zip(*(lanes(word, bits, compared[3] == "s") for word in (a, b)), strict=True)
        return word_of([yes * COMPARISONS[compared[2]](x, y) for x, y in pairs], bits)
    is_signed = operation not in ("addus", "subus", "absdiffu", "sadu", "avgu", "haddu", "maxu", "minu")
    values = list(zip(lanes(a, bits, is_signed), lanes(b, bits, is_signed), strict=True))
    if operation.startswith("sad"):
        return sum(abs(x - y) for x, y in values)
    formula = {
        "abs": lambda x, y: abs(x),
        "absss": lambda x, y: clamped(abs(x), bits, True),
        "neg": lambda x, y: -x,
        "negss": lambda x, y: clamped(-x, bits, True),
        "add": lambda x, y: x + y,
        "addss": lambda x, y: clamped(x + y, bits, True),
        "addus": lambda x, y: clamped(x + y, bits, False),
        "sub": lambda x, y: x - y,
        "subss": lambda x, y: clamped(x - y, bits, True),
        "subus": lambda x, y: clamped(x - y, bits, False),
        "absdiffs": lambda x, y: abs(x - y),
        "absdiffu": lambda x, y: abs(x - y),
        "avgs": lambda x, y: away_from_zero(x + y),
        "avgu": lambda x, y: (x + y + 1) // 2,
        "haddu": lambda x, y: (x + y) // 2,
        "maxs": max,
        "maxu": max,
        "mins": min,
        "minu": min,
    }[operation]
    return word_of([formula(x, y) for x, y in values], bits)


def three_lanes(name, a, b, c):
    """__vi<operation>_<type>[_relu]."""
    operation, kind, relu = re.fullmatch(r"__vi(\w+?)_([su]\d+(?:x2)?)(_relu)?", name).groups()
    bits, is_signed = (16 if "16" in kind else 32), kind[0] == "s"
    result = []
    for x, y, z in zip(*(lanes(word, bits, is_signed) for word in (a, b, c)), strict=True):
        total = lanes(x + y & 0xFFFFFFFF, bits, is_signed)[0]
        value = {
            "max3": max(x, y, z),
            "min3": min(x, y, z),
            "addmax": max(total, z),
            "addmin": min(total, z),
            "max": max(x, y),
            "min": min(x, y),
            "bmax": max(x, y),
            "bmin": min(x, y),
        }[operation]
        result.append(max(value, 0) if relu else value)
    return word_of(result, bits)


def chosen(name, a, b):
    """Bit by bit: whether __vib... takes a, the low lane first."""
    bits, is_signed = (16 if "16" in name else 32), "_s" in name
    pairs = zip(lanes(a, bits, is_signed), lanes(b, bits, is_signed), strict=True)
    better = COMPARISONS["ge" if "max" in name else "le"]
    return sum(better(x, y) << lane for lane, (x, y) in enumerate(pairs))


def dot_product(name, a, b, c):
    is_signed = not name.startswith("unsigned")
    parts = lanes(b, 8, is_signed)
    if name.endswith("dp4a"):
        return sum(x * y for x, y in zip(lanes(a, 8, is_signed), parts, strict=True)) + c
    half = parts[2:] if name.endswith("hi") else parts[:2]
    return sum(x * y for x, y in zip(lanes(a, 16, is_signed), half, strict=True)) + c


def byte_permutation(a, b, selector):
    source = (b << 32 | a).to_bytes(8, "little")
    result = []
    for lane in range(4):
        # The Math API looks at three bits of each selector.
        result.append(source[selector >> (4 * lane) & 7])
    return int.from_bytes(bytes(result), "little")


def nth_set_bit(mask, base, n):
    base &= 31
    n = signed(n)
    if n == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    places = range(base, 32) if n > 0 else range(base, -1, -1)
    found = [at for at in places if mask >> at & 1]
    return found[abs(n) - 1] if abs(n) <= len(found) else 0xFFFFFFFF


def reversed_bits(value, bits):
    return int(f"{value:0{bits}b}"[::-1], 2)


def expected(name, a, b, c):
    if re.fullmatch(r"__v[a-z]+[24]", name):
        return simd(name, a, b)
    if name.endswith(".chosen"):
        return chosen(name, a, b)
    if name.startswith("__vi"):
        return three_lanes(name, a, b, c)
    if "_dp" in name:
        return dot_product(name, a, b, c)
    whole, shift = b << 32 | a, c
    sa, sb = signed(a), signed(b)
    return {
        "__hadd": lambda: (sa + sb) >> 1,
        "__rhadd": lambda: (sa + sb + 1) >> 1,
        "__uhadd": lambda: (a + b) >> 1,
        "__urhadd": lambda: (a + b + 1) >> 1,
        "__mulhi": lambda: sa * sb >> 32,
        "__umulhi": lambda: a * b >> 32,
        "__mul24": lambda: signed(a, 24) * signed(b, 24),
        "__umul24": lambda: (a & 0xFFFFFF) * (b & 0xFFFFFF),
        "umin": lambda: min(a, b),
        "umax": lambda: max(a, b),
        "__byte_perm": lambda: byte_permutation(a, b, c),
        "__funnelshift_l": lambda: whole << (shift & 31) >> 32,
        "__funnelshift_lc": lambda: whole << min(shift, 32) >> 32,
        "__funnelshift_r": lambda: whole >> (shift & 31),
        "__funnelshift_rc": lambda: whole >> min(shift, 32),
        "__sad": lambda: abs(sa - sb) + c,
        "__usad": lambda: abs(a - b) + c,
        "__fns": lambda: nth_set_bit(a, b, c),
        "__brev": lambda: reversed_bits(a, 32),
        "__clz": lambda: 32 - a.bit_length(),
        "__ffs": lambda: (a & -a).bit_length(),
        "__popc": lambda: a.bit_count(),
    }[name]()


def expected_long(name, a, b):
    sa, sb = signed(a, 64), signed(b, 64)
    return {
        "__brevll": lambda: reversed_bits(a, 64),
        "__clzll": lambda: 64 - a.bit_length(),
        "__ffsll": lambda: (a & -a).bit_length(),
        "__popcll": lambda: a.bit_count(),
        "__mul64hi": lambda: sa * sb >> 64,
        "__umul64hi": lambda: a * b >> 64,
        "llmin": lambda: min(sa, sb),
        "llmax": lambda: max(sa, sb),
        "ullmin": lambda: min(a, b),
        "ullmax": lambda: max(a, b),
        "llabs": lambda: abs(sa),
        "__hiloint2double": lambda: a,
    }[name]()


LONG = {
    "__brevll", "__clzll", "__ffsll", "__popcll", "__mul64hi", "__umul64hi", "llmin", "llmax", "ullmin", "ullmax",
    "llabs", "__hiloint2double",
}  # fmt: skip


def test_functions_of_words_and_their_lanes(tmp_path):
    wrong, names = [], set()
    for line in output_of(PROGRAM.read_text(), tmp_path).splitlines():
        name, *numbers, _, result = line.split()
        a, b, c = map(int, numbers)
        names.add(name)
        if name in LONG:
            right = expected_long(name, a, b) & (1 << 64) - 1
        else:
            right = expected(name, a, b, c) & 0xFFFFFFFF
        if right != int(result):
            wrong.append(f"{line}, not {right}")
    assert not wrong, "\n".join(wrong[:40])
    assert len(names) == 169
