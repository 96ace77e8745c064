"""Values from outside a kernel: what they are typed as, and that they are frozen when it is compiled."""

import collections
import enum
import types as python_types
import warnings

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, types_of

FACTOR = 3
TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)
LARGE = np.zeros(100_000)
PAIR = (1, 2.5)
Limits = collections.namedtuple("Limits", "low high")
LIMITS = Limits(2, 7.5)


class Mode(enum.IntEnum):
    SLOW = 1
    FAST = 4


settings = python_types.ModuleType("settings")
settings.SCALE = 0.5


@cuda.jit(device=True)
def scaled(value):
    return value * settings.SCALE


def test_types_of_constants():
    byte, half, flag = np.uint8(7), np.float32(0.5), np.bool_(True)

    def kernel(i):
        a = FACTOR
        b = settings.SCALE
        c = byte
        d = half
        e = flag
        f = PAIR[1]
        g = TABLE[1, i]
        h = np.pi
        j = np.int16(i)
        k = TABLE.shape

    assert types_of(kernel, "int32") == {
        "i": "int32",
        "a": "Literal[int](3)",
        "b": "float64",
        "c": "Literal[int](7)",
        "d": "float32",
        "e": "Literal[bool](True)",
        "f": "float64",
        "g": "float32",
        "h": "float64",
        "j": "int16",
        "k": "UniTuple(int64 x 2)",
    }


def test_values_of_constants():
    k, table = 7, np.array([[1, 2], [3, 4]], dtype=np.int16, order="F")

    def kernel(out, i):
        out[0], out[1], out[2] = k, table[1, 0], table[i, i]
        out[3], out[4], out[5] = scaled(10), TABLE[1, 2], np.e

    assert list(evaluate(kernel, 1, size=6)) == [7, 3, 4, 5, 5, np.e]


def test_members_of_integer_enumerations_and_fields_of_named_tuples_are_constants():
    nearest = Mode.FAST

    def kernel(out, mode):
        out[0] = 1 if mode == Mode.FAST else 2
        out[1] = LIMITS.low + LIMITS.high
        out[2] = nearest
        out[3] = LIMITS[1]

    assert list(evaluate(kernel, 4, size=4)) == [1, 9.5, 4, 7.5]
    assert list(evaluate(kernel, 1, size=4)) == [2, 9.5, 4, 7.5]


def launch_twice(kernel, change):
    """Results of two launches with a change between them, and the warnings of the second and a third."""
    out, warned = np.zeros(1), []
    kernel[1, 1](out)
    first = out[0]
    change()
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel[1, 1](out)
        warned.append(caught)
    return first, out[0], warned


def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return next(number for number, line in enumerate(lines, first) if text in line)


def check_warned_once(warned, kernel, name, marked):
    assert [len(caught) for caught in warned] == [1, 0]
    warning = warned[0][0]
    assert warning.category is errors.ChangedConstantWarning
    assert str(warning.message).startswith(f"'{name}' has changed since {marked.__name__}() was compiled")
    assert (warning.filename, warning.lineno) == (__file__, line_of(marked, "# here"))


def test_an_array_that_changed_keeps_its_old_value_and_warns_once():
    table = np.array([1.0, 2.0])

    @cuda.jit
    def kernel(out):
        i = 1
        out[0] = table[i]  # here

    def change():
        table[1] = 9

    first, second, warned = launch_twice(kernel, change)
    assert (first, second) == (2, 2)
    check_warned_once(warned, kernel, "table", kernel.py_func)


def test_a_large_array_that_changed_throughout_warns(monkeypatch):
    @cuda.jit
    def kernel(out):
        out[0] = LARGE[5]  # here

    _, _, warned = launch_twice(kernel, lambda: LARGE.fill(1))
    LARGE.fill(0)
    check_warned_once(warned, kernel, "LARGE", kernel.py_func)


def test_a_number_that_changed_warns_in_the_function_that_uses_it(monkeypatch):
    @cuda.jit(device=True)
    def inner():
        return settings.SCALE  # here

    @cuda.jit
    def kernel(out):
        out[0] = inner()

    first, second, warned = launch_twice(kernel, lambda: monkeypatch.setattr(settings, "SCALE", 4.0))
    assert (first, second) == (0.5, 0.5)
    check_warned_once(warned, kernel, "settings.SCALE", inner.py_func)


def test_nothing_warns_where_nothing_changed(monkeypatch):
    @cuda.jit
    def kernel(out):
        out[0] = FACTOR + TABLE[0, 1] + PAIR[0]

    _, _, warned = launch_twice(kernel, lambda: monkeypatch.setitem(globals(), "FACTOR", 1 + 2))
    assert warned == [[], []]


def test_other_argument_types_see_the_new_value(monkeypatch):
    @cuda.jit
    def kernel(out):
        out[0] = FACTOR

    doubles, singles = np.zeros(1), np.zeros(1, np.float32)
    kernel[1, 1](doubles)
    monkeypatch.setitem(globals(), "FACTOR", 8)
    kernel[1, 1](singles)
    assert (doubles[0], singles[0]) == (3, 8)


def test_what_is_no_constant_is_refused():
    names = {"a": 1}

    def kernel(out):
        out[0] = names["a"]

    with pytest.raises(errors.TypingError, match="Untyped global name 'names'"):
        evaluate(kernel)


def test_device_arrays_from_outside_are_the_memory_itself():
    shared = cuda.to_device(np.arange(6.0).reshape(2, 3))
    part = shared[:, 1]

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = shared[1, i] + part[1]
        shared[0, i] = 10 * i

    out = np.zeros(3)
    kernel[1, 3](out)
    assert out.tolist() == [7, 8, 9]
    assert shared.copy_to_host().tolist() == [[0, 10, 20], [3, 4, 5]]
