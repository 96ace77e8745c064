"""The functions of cuda.fp16 and cuda.bf16, computed on the host: exactly, or in float64, and rounded once to 16 bits.

    HALF, BRAIN                            # the two formats, as significand bits and range of exponents
    round_to(HALF, values, "down")         # float64 values → the format's values, as float64
    bits_of(HALF, values)                  # of the format's values, as uint16
    exact_functions(HALF)                  # name → (arity, function of the format's values), every bit is known
    close_functions()                      # name → function in float64; the last bit is not promised
    conversions(HALF)                      # see there

Sources: CUDA Math API, "Half Precision Intrinsics" and "Bfloat16 Precision Intrinsics"; PTX ISA, cvt.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Format:
    name: str  # as the functions are called: "half", "bfloat16"
    precision: int  # bits of the significand, the hidden one too
    lowest: int  # exponents of normal numbers
    highest: int

    @property
    def largest(self):
        return float((2 - 2.0 ** (1 - self.precision)) * 2.0**self.highest)


HALF = Format("half", 11, -14, 15)
BRAIN = Format("bfloat16", 8, -126, 127)
ROUND = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}


def round_to(form, values, how="rn"):
    """float64 → the values of the format, rounded once."""
    values = np.asarray(values, np.float64)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(values)
        unit = np.ldexp(1.0, np.maximum(exponent - 1, form.lowest) - (form.precision - 1))
        rounded = np.copysign(ROUND[how](values / unit) * unit, values)
        inward = {"rn": False, "rz": True, "rd": values > 0, "ru": values < 0}[how]
        beyond = np.where(inward & np.isfinite(values), form.largest, np.inf)
        rounded = np.where(np.abs(rounded) > form.largest, np.copysign(beyond, values), rounded)
    return np.where(np.isfinite(values) & (values != 0), rounded, values)


def round_fraction(form, value, how="rn"):
    """A fraction or an int → the value of the format, as float64."""
    if value == 0:
        return 0.0
    value = Fraction(value)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, form.lowest) - (form.precision - 1))
    directions = {"rn": round, "rd": math.floor, "ru": math.ceil, "rz": math.trunc}  # round: half to even
    rounded = abs(directions[how](value / unit) * unit)
    if rounded > Fraction(form.largest):
        inward = how == "rz" or how == ("rd" if value > 0 else "ru")
        rounded = form.largest if inward else math.inf
    return math.copysign(rounded, value)


def bits_of(form, values):
    values = np.asarray(values, np.float64)
    if form is HALF:
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def values_of(form, bits):
    bits = np.asarray(bits, np.uint16)
    if form is HALF:
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def interesting(form):
    """Bit patterns: zeros, subnormals, ones, ties of sums, the largest, infinities, NaN; some at random."""
    step = 2.0 ** (1 - form.precision)
    smallest = 2.0**form.lowest * step
    named = [0.0, smallest, 3 * smallest, 2.0**form.lowest, 2.0**form.lowest - smallest, 0.5, 1, 1 + step, 1 + 3 * step,
             2 - step, 1.5, 2.5, 3, 3.5, step, step / 2, 1 / step, 1 / step + 1, 100, form.largest, form.largest / 2,
             np.inf]  # fmt: skip
    named = bits_of(form, named)
    rng = np.random.default_rng(form.precision)
    random = rng.integers(0, 1 << 16, 60, dtype=np.uint16)
    bits = np.concatenate([named, named | 0x8000, random, bits_of(form, [np.nan])])
    return bits[~np.isnan(values_of(form, bits)) | (np.arange(bits.size) == bits.size - 1)]


def _fma(form):
    def fused(a, b, c):
        plain = a * b + c
        result = np.empty_like(plain)
        for i, (x, y, z) in enumerate(zip(a, b, c)):
            exact = None
            if np.isfinite([x, y, z]).all():
                exact = Fraction(x) * Fraction(y) + Fraction(z)
            result[i] = round_fraction(form, exact) if exact else plain[i]
        return result

    return fused


def _saturated(function):
    """The function with its result clamped to [0, 1]; NaN becomes 0."""
    return lambda *a: np.where(np.isnan(r := function(*a)), 0.0, np.clip(r, 0.0, 1.0) + 0.0)


def _extreme(better, nan_wins):
    def choose(a, b):
        first = better(a, b) | ((a == b) & better(np.copysign(1, a), np.copysign(1, b)))
        chosen = np.where(first, a, b)
        if nan_wins:
            return np.where(np.isnan(a) | np.isnan(b), np.nan, chosen)
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, chosen))

    return choose


def exact_functions(form):
    """Name without underscores → (arity, function): float64 arrays of the format's values → the result, not rounded yet."""
    fma = _fma(form)
    add, subtract, multiply = np.add, np.subtract, np.multiply
    rows = {
        "hadd": (2, add), "hsub": (2, subtract), "hmul": (2, multiply), "hdiv": (2, np.divide), "hfma": (3, fma),
        "hadd_rn": (2, add), "hsub_rn": (2, subtract), "hmul_rn": (2, multiply), "hadd_sat": (2, _saturated(add)),
        "hsub_sat": (2, _saturated(subtract)), "hmul_sat": (2, _saturated(multiply)), "hfma_sat": (3, _saturated(fma)),
        "hfma_relu": (3, lambda *a: np.where(np.signbit(r := fma(*a)) & ~np.isnan(r), 0.0, r)),
        "hmax": (2, _extreme(np.greater, False)), "hmin": (2, _extreme(np.less, False)),
        "hmax_nan": (2, _extreme(np.greater, True)), "hmin_nan": (2, _extreme(np.less, True)),
        "habs": (1, np.abs), "hneg": (1, np.negative), "hceil": (1, np.ceil), "hfloor": (1, np.floor),
        "hrint": (1, np.rint), "htrunc": (1, np.trunc), "hsqrt": (1, np.sqrt), "hrcp": (1, lambda a: 1 / a),
    }  # fmt: skip
    return rows


def close_functions():
    return {
        "hcos": np.cos, "hsin": np.sin, "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda a: 10.0**a,
        "hlog": np.log, "hlog2": np.log2, "hlog10": np.log10, "hrsqrt": lambda a: 1 / np.sqrt(a), "htanh": np.tanh,
        "htanh_approx": np.tanh,
    }  # fmt: skip


def tests():
    """Name → function: ordered comparisons are false, those that end in u true where a number is NaN."""
    ordered = {"heq": np.equal, "hne": np.not_equal, "hlt": np.less, "hle": np.less_equal, "hgt": np.greater,
               "hge": np.greater_equal}  # fmt: skip

    def with_nan(compare, answer):
        return lambda a, b: np.where(np.isnan(a) | np.isnan(b), answer, compare(a, b))

    return {
        **{name: with_nan(compare, False) for name, compare in ordered.items()},
        **{name + "u": with_nan(compare, True) for name, compare in ordered.items()},
    }


def to_integer(values, how, dtype):
    """PTX cvt of a float to an integer: saturates; NaN gives 0, or 1 << 63 for 64 bits."""
    limits = np.iinfo(dtype)
    exact = ROUND[how](values)
    result = []
    for value in exact:
        if np.isnan(value):
            result.append(0 if limits.bits < 64 else 1 << 63)
        else:
            result.append(
                limits.max if value > limits.max else limits.min if value < limits.min else int(value)
            )
    return (
        np.array([r % (1 << limits.bits) for r in result], np.uint64)
        .astype(f"u{limits.bits // 8}")
        .view(dtype)
    )


def from_integers(form, values, how):
    """Exactly: float64 does not hold every 64-bit integer."""
    return np.array([round_fraction(form, int(value), how) for value in values])
