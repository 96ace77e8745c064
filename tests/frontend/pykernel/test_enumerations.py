"""Enumerations: arguments, constants, comparison, values. What is refused: numba-cuda 0.30.4."""

import enum

import numpy as np
import pytest
from cudasim import cuda, errors
from cudasim.type_system.typeof import typeof
from kernel_checks import evaluate, refusal, types_of


class Colour(enum.Enum):
    red = 1
    green = 2
    blue = 3


class Shade(enum.Enum):
    red = 1


class Ratio(enum.Enum):
    half = 0.5
    double = 2.0


class Level(enum.IntEnum):
    low = 1
    high = 7


class Mixed(enum.Enum):
    one = 1
    two = 2.5


class Text(enum.Enum):
    a = "a"
    b = "b"


@cuda.jit(device=True)
def is_red(colour):
    return colour is Colour.red


@cuda.jit(device=True)
def double(level):
    return level * 2


def test_members_compare_by_identity_and_equality():
    def kernel(out, c):
        out[0], out[1], out[2] = c == Colour.red, c != Colour.red, c is Colour.green
        out[3], out[4] = c is not Colour.green, Colour.red == Colour.blue
        out[5], out[6] = c in (Colour.red, Colour.blue), is_red(c)

    assert list(evaluate(kernel, Colour.red, size=7)) == [1, 0, 0, 1, 0, 1, 1]
    assert list(evaluate(kernel, Colour.green, size=7)) == [0, 1, 1, 0, 0, 0, 0]


def test_values():
    def kernel(out, c, r, i):
        out[0], out[1], out[2] = c.value, r.value, Colour.blue.value
        out[3], out[4] = Colour["green"].value, Ratio.half.value
        chosen = Colour.red if i else Colour.blue
        out[5] = chosen.value
        out[6] = (Colour.red, Colour.green)[i].value
        out[7] = Level.high.value + Level["low"]

    assert list(evaluate(kernel, Colour.green, Ratio.double, 1, size=8)) == [2, 2.0, 3, 2, 0.5, 1, 2, 8]


def test_integer_enumerations_are_numbers():
    def kernel(out, level, a):
        out[0], out[1], out[2] = level + 1, level == Level.high, level == 7
        out[3], out[4], out[5] = level < Level.low, level.value, double(level)
        out[6] = a[level - 6]
        x = level
        out[7] = x.value
        for k in range(level):
            out[8] += k
        out[9] = level if out[0] > 0 else 2

    assert list(evaluate(kernel, Level.high, np.array([4.0, 5.0]), size=10)) == [
        8,
        1,
        1,
        0,
        7,
        14,
        5,
        7,
        21,
        7,
    ]


def test_types_are_numbas():
    assert str(typeof(Colour.red)) == "Enum<int64>(Colour)"
    assert str(typeof(Ratio.half)) == "Enum<float64>(Ratio)"
    assert str(typeof(Level.low)) == "IntEnum<int64>(Level)"
    with pytest.raises(ValueError, match="Cannot type heterogeneous enum: got value types float64, int64"):
        typeof(Mixed.one)
    with pytest.raises(NotImplementedError):
        typeof(Text.a)

    def kernel(c, level):
        a = c
        b = Colour.red
        d = level
        e = level + 1
        f = c.value

    found = types_of(kernel, "Enum<int64>(Colour)", "IntEnum<int64>(Level)")
    assert [found[name] for name in "abdef"] == [
        "Enum<int64>(Colour)", "Enum<int64>(Colour)", "IntEnum<int64>(Level)", "int64", "int64"
    ]  # fmt: skip


def test_members_in_tuples_are_arguments():
    def kernel(out, t):
        out[0], out[1] = t[0].value, t[1][0] == Colour.blue

    assert list(evaluate(kernel, (Level.high, (Colour.blue, 1)), size=2)) == [7, 1]


def test_enumerations_of_strings_compare():
    def kernel(out):
        out[0], out[1] = Text.a == Text.b, Text.a == Text.a

    assert list(evaluate(kernel, size=2)) == [0, 1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a[0] = c == Shade.red", "the operator =="),
        ("a[0] = c == 1", "the operator =="),
        ("a[0] = c < Colour.blue", "the operator <"),
        ("a[0] = c + 1", "the operator +"),
        ("a[0] = c.name", "Unknown attribute 'name' of type Enum<int64>(Colour)"),
        ("a[0] = c", "Cannot convert"),
        ("a[0] = int(c)", "No implementation"),
        ("if c: a[0] = 1", "cannot be a condition"),
        ("a[0] = Colour['none'].value", "has no member 'none'"),
        ("x = c if a[0] else Shade.red\n    a[0] = x is Shade.red", "Cannot unify Enum<int64>("),
        ("a[0] = Mixed.one.value if c is Mixed.one else 0", "Cannot type heterogeneous enum"),
    ],
)
def test_refusals(body, message):
    import linecache

    source = f"def kernel(a, c):\n    {body}\n"
    namespace = {"Colour": Colour, "Shade": Shade, "Mixed": Mixed}
    exec(compile(source, "<refused member>", "exec"), namespace)
    linecache.cache["<refused member>"] = (len(source), None, source.splitlines(True), "<refused member>")
    assert message in refusal(
        errors.TypingError, namespace["kernel"], "array(float64, 1d, C)", "Enum<int64>(Colour)"
    )
