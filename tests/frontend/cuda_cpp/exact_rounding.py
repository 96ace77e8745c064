"""Rounding to short floating-point formats with exact integers, for tests to compare with."""

from __future__ import annotations

import dataclasses
import math
import struct
from fractions import Fraction

NEAREST, ZERO, DOWN, UP = "nearest", "zero", "down", "up"


@dataclasses.dataclass(frozen=True)
class Format:
    """Bits of the significand (the hidden one counts), exponent of the smallest normal number, the patterns
    of infinity and NaN."""

    precision: int
    lowest: int
    infinity: int
    nan: int
    bits: int

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    def is_nan(self, pattern: int) -> bool:
        return pattern & (self.sign - 1) > self.infinity

    def is_infinite(self, pattern: int) -> bool:
        return pattern & (self.sign - 1) == self.infinity

    def value(self, pattern: int) -> Fraction:
        """Of a finite number."""
        magnitude = pattern & (self.sign - 1)
        exponent, fraction = magnitude >> (self.precision - 1), magnitude & ((1 << (self.precision - 1)) - 1)
        if exponent:
            fraction |= 1 << (self.precision - 1)
        power = max(exponent, 1) - 1 + self.lowest - (self.precision - 1)
        size = Fraction(fraction) * Fraction(2) ** power
        return -size if pattern & self.sign else size

    def rounded(self, value: Fraction, mode: str = NEAREST, *, negative_zero: bool = False) -> int:
        """The pattern of a number. Zero has the sign asked for."""
        negative = value < 0 or (value == 0 and negative_zero)
        sign = self.sign if negative else 0
        if value == 0:
            return sign
        over, under = abs(value.numerator), value.denominator
        exponent = over.bit_length() - under.bit_length()
        if over << max(-exponent, 0) < under << max(exponent, 0):
            exponent -= 1
        base = max(exponent, self.lowest)
        unit = base - (self.precision - 1)
        under <<= max(unit, 0)
        whole, rest = divmod(over << max(-unit, 0), under)
        inward = mode == ZERO or mode == (UP if negative else DOWN)
        if mode == NEAREST:
            whole += 2 * rest > under or (2 * rest == under and whole % 2 == 1)
        elif rest and not inward:
            whole += 1
        pattern = ((base - self.lowest) << (self.precision - 1)) + whole
        if pattern >= self.infinity:
            pattern = self.infinity - 1 if inward else self.infinity
        return sign | pattern


HALF = Format(11, -14, 0x7C00, 0x7FFF, 16)
BFLOAT = Format(8, -126, 0x7F80, 0x7FFF, 16)


def float_of_bits(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits_of_float(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def double_of_bits(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def rounded_float(form: Format, value: float, mode: str = NEAREST) -> int:
    """The pattern of a float, whatever it is."""
    if math.isnan(value):
        return form.nan
    if math.isinf(value):
        return form.infinity | (form.sign if value < 0 else 0)
    return form.rounded(Fraction(value), mode, negative_zero=math.copysign(1, value) < 0)


def whole_number(value: Fraction, mode: str) -> int:
    return {NEAREST: round, ZERO: math.trunc, DOWN: math.floor, UP: math.ceil}[mode](value)


def square_root(form: Format, value: Fraction) -> int:
    """Rounded to nearest. The root is cut behind so many bits, with one more if any is lost, that rounding it
    is rounding the root: no tie is that close."""
    scale = Fraction(4) ** 200
    shifted = value * scale
    assert shifted.denominator == 1
    root = math.isqrt(shifted.numerator)
    inexact = root * root != shifted.numerator
    return form.rounded(Fraction(2 * root + inexact, 2) / Fraction(2) ** 200)
