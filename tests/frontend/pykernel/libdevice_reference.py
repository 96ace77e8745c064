"""What CUDA's libdevice functions have to give, independently of any C library: mpmath for elementary and special
functions, Python's exact integers and fractions for the rest.

APPROXIMATE: the error allowed is that of the CUDA C++ Programming Guide, appendix "Mathematical Functions", tables of
maximum errors in units of the last place, for double and single precision. EXACT: one right answer.
"""

import math
import struct
from fractions import Fraction

import mpmath
import numpy as np
from mpmath import mp

mp.prec = 240

# -- formats -------------------------------------------------------------------------------------------------

PRECISION = {np.float64: (53, -1074, 1023), np.float32: (24, -149, 127)}


def ulps(value, reference, kind):
    """The distance in units of the last place of the reference; 0 where both are the same infinity or NaN."""
    reference = mpmath.mpf(reference)
    digits, lowest, highest = PRECISION[kind]
    if mpmath.isnan(reference) or math.isnan(value):
        return 0 if mpmath.isnan(reference) and math.isnan(value) else math.inf
    if abs(reference) >= mpmath.mpf(2) ** (highest + 1):
        reference = mpmath.inf if reference > 0 else -mpmath.inf
    if mpmath.isinf(reference) or math.isinf(value):
        largest = (2 - mpmath.mpf(2) ** (1 - digits)) * mpmath.mpf(2) ** highest
        return (
            0
            if reference == value
            else float(abs(abs(reference) - largest) / mpmath.mpf(2) ** (highest + 1 - digits))
        )
    unit = lowest if reference == 0 else max(lowest, mpmath.frexp(reference)[1] - digits)
    return float(abs(mpmath.mpf(value) - reference) / mpmath.mpf(2) ** unit)


def rounded(exact, direction, kind):
    """A Fraction as a float of the kind: rn, rd, ru or rz."""
    digits, lowest, highest = PRECISION[kind]
    if exact == 0:
        return -0.0 if direction == "rd" else 0.0  # of a sum of two numbers, as IEEE 754 has it
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** max(lowest, exponent - digits + 1)
    whole, rest = divmod(size / unit, 1)
    away = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1), "rz": False,
            "ru": rest > 0 and exact > 0, "rd": rest > 0 and exact < 0}[direction]  # fmt: skip
    size = (whole + away) * unit
    if size >= Fraction(2) ** (highest + 1):
        largest = float((2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** highest)
        inward = direction == "rz" or direction == ("rd" if exact > 0 else "ru")
        return math.copysign(largest if inward else math.inf, exact)
    return float(size) if exact > 0 else -float(size)


def rounded_root(x, direction, kind):
    """The square root of a positive float, rounded."""
    digits = PRECISION[kind][0] + 20
    shift = 2 * (digits + 60)
    scaled = Fraction(x) * 4**600 * 2 ** (2 * shift)
    root = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(root, 2**600 * 2**shift)
    if exact * exact != Fraction(x):
        exact += Fraction(1, 2**601 * 2**shift)  # between this root and the next: no tie
    return rounded(exact, direction, kind)


# -- samples -------------------------------------------------------------------------------------------------


def sample(domain, kind, count, seed=7):
    """Numbers of a domain: a pair is a range; "all" has every size and both signs, "positive" one sign."""
    rng = np.random.default_rng(seed)
    if isinstance(domain, tuple):
        low, high = domain
        values = rng.uniform(low, high, count)
        if low > 0 and high / low > 1e4:
            values = np.exp(rng.uniform(math.log(low), math.log(high), count))
        inside = [v for v in (low, high, 0.5, 1.0, -0.25, 1e-6, -1e-9) if low <= v <= high]
    else:
        values = 2.0 ** rng.uniform(-100, 100, count)
        if domain == "all":
            values *= rng.choice([-1, 1], count)
        inside = [0.5, 1.0, 2.5, 1e-20, math.inf, math.nan] + (
            [0.0, -0.0, -1.5, -math.inf] if domain == "all" else []
        )
    values[: len(inside)] = inside
    return values.astype(kind)


# -- approximate functions: stem -> (value, allowed error of the double and of the float form, domains) ------


def _root(x):
    return mpmath.cbrt(x) if x >= 0 else -mpmath.cbrt(-x)


def _erfcx(x):
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _erfc_inverse(y):
    """The x whose erfc is y: mpmath's erfinv, with the digits that 1 - y needs."""
    with mp.workprec(1300):
        return +mpmath.erfinv(1 - y)


def _normal_inverse(p):
    with mp.workprec(1300):
        return -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)


def _log_gamma(x):
    return mpmath.log(abs(mpmath.gamma(x)))


def _power(x, y):
    return mpmath.power(x, y)


APPROXIMATE = {
    "acos": (mpmath.acos, 2, 2, [(-1, 1)]),
    "acosh": (mpmath.acosh, 3, 4, [(1, 1e30)]),
    "asin": (mpmath.asin, 2, 2, [(-1, 1)]),
    "asinh": (mpmath.asinh, 3, 3, [(-20, 20)]),
    "atan": (mpmath.atan, 2, 2, [(-20, 20)]),
    "atan2": (mpmath.atan2, 2, 3, [(-20, 20), (-3, 3)]),
    "atanh": (mpmath.atanh, 2, 3, [(-0.9999, 0.9999)]),
    "cbrt": (_root, 1, 1, [(-1e5, 1e5)]),
    "cos": (mpmath.cos, 2, 2, [(-1e4, 1e4)]),
    "cosh": (mpmath.cosh, 1, 2, [(-80, 80)]),
    "cospi": (mpmath.cospi, 2, 1, [(-30, 30)]),
    "erf": (mpmath.erf, 2, 2, [(-4, 4)]),
    "erfc": (mpmath.erfc, 5, 4, [(-4, 9)]),
    "erfcinv": (_erfc_inverse, 6, 4, [(1e-30, 2)]),
    "erfcx": (_erfcx, 4, 4, [(-9, 300)]),
    "erfinv": (mpmath.erfinv, 5, 2, [(-0.999999, 0.999999)]),
    "exp": (mpmath.exp, 1, 1, [(-85, 85)]),
    "exp10": (lambda x: mpmath.power(10, x), 1, 2, [(-37, 37)]),
    "exp2": (lambda x: mpmath.power(2, x), 1, 2, [(-120, 120)]),
    "expm1": (mpmath.expm1, 1, 1, [(-20, 80)]),
    "hypot": (mpmath.hypot, 2, 3, [(-1e10, 1e10), (-1e10, 1e10)]),
    "j0": (lambda x: mpmath.besselj(0, x), 7, 9, [(-7.9, 7.9)]),
    "j1": (lambda x: mpmath.besselj(1, x), 7, 9, [(-7.9, 7.9)]),
    "lgamma": (_log_gamma, 4, 6, [(1e-3, 1e6)]),
    "log": (mpmath.log, 1, 1, [(1e-30, 1e30)]),
    "log10": (mpmath.log10, 1, 2, [(1e-30, 1e30)]),
    "log1p": (mpmath.log1p, 1, 1, [(-0.999, 1e3)]),
    "log2": (lambda x: mpmath.log(x, 2), 1, 1, [(1e-30, 1e30)]),
    "normcdf": (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, 5, 5, [(-12, 6)]),
    "normcdfinv": (_normal_inverse, 7, 5, [(1e-30, 0.9999)]),
    "pow": (_power, 1, 4, [(1e-3, 1e3), (-12, 12)]),
    "powi": (_power, 1, 4, [(1e-3, 1e3), "exponents"]),
    "rcbrt": (lambda x: 1 / _root(x), 1, 1, [(-1e5, 1e5)]),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), 1, 2, [(1e-30, 1e30)]),
    "sin": (mpmath.sin, 2, 2, [(-1e4, 1e4)]),
    "sincos": (lambda x: (mpmath.sin(x), mpmath.cos(x)), 2, 2, [(-1e4, 1e4)]),
    "sincospi": (lambda x: (mpmath.sinpi(x), mpmath.cospi(x)), 2, 1, [(-30, 30)]),
    "sinh": (mpmath.sinh, 2, 3, [(-80, 80)]),
    "sinpi": (mpmath.sinpi, 2, 1, [(-30, 30)]),
    "tan": (mpmath.tan, 2, 4, [(-1e4, 1e4)]),
    "tanh": (mpmath.tanh, 1, 1, [(-9, 9)]),
    "tgamma": (mpmath.gamma, 10, 5, [(-5.9, 34)]),
    "y0": (lambda x: mpmath.bessely(0, x), 7, 9, [(1e-3, 7.9)]),
    "y1": (lambda x: mpmath.bessely(1, x), 7, 9, [(1e-3, 7.9)]),
}
#: jn and yn: an absolute error.
BESSEL_OF_ORDER = {"jn": mpmath.besselj, "yn": mpmath.bessely}
BESSEL_ERROR = {np.float64: 5e-12, np.float32: 2.2e-6}
#: The fast_ functions have the accuracy of those without, in their domains.
FAST = ("cosf", "exp10f", "expf", "log10f", "log2f", "logf", "powf", "sincosf", "sinf", "tanf")


# -- exact functions: name -> value of Python numbers (integers as the signed ones that Numba passes) --------


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value, bits):
    return value & ((1 << bits) - 1)


def _words(function, bits=32, of_unsigned=False):
    """A function of integers: arguments are unsigned where asked for, and the result wraps to the width."""

    def call(*values):
        return signed(function(*(unsigned(v, bits) if of_unsigned else v for v in values)), bits)

    return call


def _byte_perm(x, y, selector):
    source = x.to_bytes(4, "little") + y.to_bytes(4, "little")
    return int.from_bytes(bytes(source[selector >> 4 * i & 7] for i in range(4)), "little")


def _leading_zeros(bits):
    return lambda x: bits - unsigned(x, bits).bit_length()


def _reversed(bits):
    return _words(lambda x: int(f"{x:0{bits}b}"[::-1], 2), bits, True)


def _first_set(x):
    return (x & -x).bit_length()


def _low_24(x, is_signed):
    return signed(x, 24) if is_signed else x & 0xFFFFFF


EXACT = {
    "abs": _words(abs), "llabs": _words(abs, 64),
    "brev": _reversed(32), "brevll": _reversed(64),
    "byte_perm": _words(_byte_perm, 32, True),
    "clz": _leading_zeros(32), "clzll": _leading_zeros(64),
    "ffs": _first_set, "ffsll": _first_set,
    "popc": lambda x: unsigned(x, 32).bit_count(), "popcll": lambda x: unsigned(x, 64).bit_count(),
    "hadd": lambda x, y: (x + y) >> 1, "rhadd": lambda x, y: (x + y + 1) >> 1,
    "uhadd": _words(lambda x, y: (x + y) >> 1, 32, True), "urhadd": _words(lambda x, y: (x + y + 1) >> 1, 32, True),
    "mul24": _words(lambda x, y: _low_24(x, True) * _low_24(y, True)),
    "umul24": _words(lambda x, y: _low_24(x, False) * _low_24(y, False), 32, True),
    "mulhi": lambda x, y: (x * y) >> 32, "mul64hi": lambda x, y: (x * y) >> 64,
    "umulhi": _words(lambda x, y: (x * y) >> 32, 32, True), "umul64hi": _words(lambda x, y: (x * y) >> 64, 64, True),
    "sad": _words(lambda x, y, z: abs(x - y) + z), "usad": _words(lambda x, y, z: abs(x - y) + z, 32, True),
    **{prefix + name: function for prefix in ("", "ll") for name, function in (("min", min), ("max", max))},
    **{f"u{prefix}{name}": _words(function, bits, True) for prefix, bits in (("", 32), ("ll", 64))
       for name, function in (("min", min), ("max", max))},
}  # fmt: skip
EXACT.update({
    "double2hiint": lambda x: struct.unpack("<ii", struct.pack("<d", x))[1],
    "double2loint": lambda x: struct.unpack("<ii", struct.pack("<d", x))[0],
    "hiloint2double": lambda high, low: struct.unpack("<d", struct.pack("<ii", low, high))[0],
    "double_as_longlong": lambda x: struct.unpack("<q", struct.pack("<d", x))[0],
    "longlong_as_double": lambda x: struct.unpack("<d", struct.pack("<q", x))[0],
    "float_as_int": lambda x: struct.unpack("<i", struct.pack("<f", x))[0],
    "int_as_float": lambda x: struct.unpack("<f", struct.pack("<i", x))[0],
    "float2half_rn": lambda x: 0x7FFF if math.isnan(x) else int(np.float32(x).astype(np.float16).view(np.int16)),
    "half2float": lambda bits: float(np.int16(bits).view(np.float16)),
    "isnand": math.isnan, "isnanf": math.isnan, "isinfd": math.isinf, "isinff": math.isinf,
    "isfinited": math.isfinite, "finitef": math.isfinite,
    "signbitd": lambda x: math.copysign(1, x) < 0, "signbitf": lambda x: math.copysign(1, x) < 0,
    "saturatef": lambda x: min(x, 1.0) if x > 0 else 0.0,
})  # fmt: skip


def _kept(function):
    """A function of finite numbers that leaves infinities and NaN alone."""
    return lambda x, kind: x if not math.isfinite(x) else function(x)


def _half_away(x):
    size = Fraction(abs(x)) + Fraction(1, 2)
    return math.copysign(float(size.numerator // size.denominator), x)


def _even(x):
    return math.copysign(float(round(Fraction(x))), x)


def _fmod(x, y, kind):
    return math.nan if math.isinf(x) or y == 0 or math.isnan(x + y) else math.fmod(x, y)


def _remainder(x, y, kind):
    return math.nan if math.isinf(x) or y == 0 or math.isnan(x + y) else math.remainder(x, y)


def _quotient_bits(x, y):
    """The low three bits of x / y rounded to the nearest integer, with its sign."""
    if not math.isfinite(x) or math.isnan(y) or y == 0 or math.isinf(y):
        return 0
    quotient = round(Fraction(x) / Fraction(y))
    return int(math.copysign(abs(quotient) % 8, quotient))


def _difference_or_zero(x, y, kind):
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if math.isinf(x) or math.isinf(y):
        return x - y if x > y else 0.0
    return rounded(Fraction(x) - Fraction(y), "rn", kind) if x > y else 0.0


def _number(choose):
    def call(x, y, kind):
        if math.isnan(x) or math.isnan(y):
            return y if math.isnan(x) else x
        if x == y == 0:
            return choose((math.copysign(1, x), x), (math.copysign(1, y), y))[1]
        return choose(x, y)

    return call


def _exponent(x, kind):
    return math.frexp(x)[1] - 1


def _logb(x, kind):
    if x == 0:
        return -math.inf
    return abs(x) if not math.isfinite(x) else float(_exponent(x, kind))


def _ilogb(x, kind):
    if x == 0 or math.isnan(x):
        return -(2**31)
    return 2**31 - 1 if math.isinf(x) else _exponent(x, kind)


def _scaled(x, n, kind):
    return (
        x * 1.0
        if not math.isfinite(x) or x == 0
        else rounded(Fraction(x) * Fraction(2) ** n, "rn", kind) or math.copysign(0.0, x)
    )


def _to_integer(round_whole, bits, is_signed):
    """PTX's cvt: saturates; NaN is 0 from float32 to 32 bits, else 1 << (width - 1)."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)

    def call(x, kind):
        if math.isnan(x):
            return 0 if kind is np.float32 and bits == 32 else -(2 ** (bits - 1))
        if math.isinf(x):
            whole = high if x > 0 else low
        else:
            whole = min(max(int(round_whole(x)), low), high)
        return signed(whole, bits)

    return call


def _nearest(x, kind):
    return _to_integer(lambda value: round(Fraction(value)), 64, True)(x, kind)


#: stem → value of floats, and the kind of the form
EXACT_REALS = {
    "fabs": lambda x, kind: abs(x), "copysign": lambda x, y, kind: math.copysign(x, y),
    "ceil": _kept(lambda x: math.copysign(float(math.ceil(x)), x)),
    "floor": _kept(lambda x: math.copysign(float(math.floor(x)), x)),
    "trunc": _kept(lambda x: math.copysign(float(math.trunc(x)), x)),
    "rint": _kept(_even), "nearbyint": _kept(_even), "round": _kept(_half_away),
    "fdim": _difference_or_zero, "fmax": _number(max), "fmin": _number(min), "fmod": _fmod, "remainder": _remainder,
    "remquo": lambda x, y, kind: (_remainder(x, y, kind), _quotient_bits(x, y)),
    "modf": lambda x, kind: (math.copysign(0.0, x), x) if math.isinf(x) else math.modf(x),
    "frexp": lambda x, kind: (x, 0) if not math.isfinite(x) else math.frexp(x),
    "logb": _logb, "ilogb": _ilogb, "ldexp": _scaled, "scalbn": _scaled,
    "nextafter": lambda x, y, kind: float(np.nextafter(kind(x), kind(y))),
    "llrint": _nearest, "llround": _to_integer(_half_away, 64, True),
}  # fmt: skip

DIRECTIONS = {"rd": math.floor, "rn": lambda x: round(Fraction(x)), "ru": math.ceil, "rz": math.trunc}
OPERATIONS = {
    "add": lambda x, y: Fraction(x) + Fraction(y), "sub": lambda x, y: Fraction(x) - Fraction(y),
    "mul": lambda x, y: Fraction(x) * Fraction(y), "div": lambda x, y: Fraction(x) / Fraction(y),
    "rcp": lambda x: 1 / Fraction(x),
}  # fmt: skip
INTEGERS = {"int": (32, True), "uint": (32, False), "ll": (64, True), "ull": (64, False)}


def directed():
    """name → (function of finite numbers, not 0, kind of the arguments, kind of the result)"""
    made = {}
    for way, whole in DIRECTIONS.items():
        for letter, kind in (("d", np.float64), ("f", np.float32)):
            for name, operation in OPERATIONS.items():
                made[f"{letter}{name}_{way}"] = lambda *values, operation=operation, way=way, kind=kind: (
                    rounded(operation(*values), way, kind)
                )
            made[f"{letter}sqrt_{way}"] = lambda x, way=way, kind=kind: rounded_root(abs(x), way, kind)
        for suffix, kind in (("", np.float64), ("f", np.float32)):
            made[f"fma{suffix}_{way}"] = lambda x, y, z, way=way, kind=kind: rounded(
                Fraction(x) * Fraction(y) + Fraction(z), way, kind
            )
            made[f"fma{suffix}"] = made[f"fma{suffix}_rn"] if way == "rn" else made.get(f"fma{suffix}")
            for integer, (bits, is_signed) in INTEGERS.items():
                source = "float" if suffix else "double"
                made[f"{source}2{integer}_{way}"] = (
                    lambda x, convert=_to_integer(whole, bits, is_signed), kind=kind: convert(x, kind)
                )
                made[f"{integer}2{source}_{way}"] = (
                    lambda n, way=way, kind=kind, bits=bits, is_signed=is_signed: rounded(
                        Fraction(n if is_signed else unsigned(n, bits)), way, kind
                    )
                )
        made[f"double2float_{way}"] = lambda x, way=way: rounded(Fraction(x), way, np.float32)
    made["sqrt"], made["sqrtf"] = made["dsqrt_rn"], made["fsqrt_rn"]
    made["frsqrt_rn"] = _nearest_reciprocal_root
    made["fast_fdividef"] = lambda x, y: (
        made["fdiv_rn"](x, y) if abs(y) <= 2.0**126 else math.copysign(0.0, x) * math.copysign(1.0, y)
    )
    return made


def _nearest_reciprocal_root(x):
    root = 1 / mpmath.sqrt(mpmath.mpf(abs(x)))
    mantissa, exponent = mpmath.frexp(root)
    return rounded(
        Fraction(int(mpmath.floor(mantissa * 2**200)), 2**200) * Fraction(2) ** int(exponent),
        "rn",
        np.float32,
    )
