"""Arithmetic that is defined and seldom meant."""

import math

import cudasim
import numpy as np
import pytest
from cudasim import cuda, errors, options, types
from cudasim.reports import check_session, schedules
from cudasim.reports.check_session import CheckSession


@cuda.jit
def shifted_left(x, n, out):
    i = cuda.grid(1)
    out[i] = x[i] << n[i]


@cuda.jit
def shifted_right(x, n, out):
    i = cuda.grid(1)
    out[i] = x[i] >> n[i]


@cuda.jit
def to_int32(x, out):
    i = cuda.grid(1)
    out[i] = types.int32(x[i])


@cuda.jit
def to_uint32(x, out):
    i = cuda.grid(1)
    out[i] = types.uint32(x[i])


@cuda.jit
def to_int8(x, out):
    i = cuda.grid(1)
    out[i] = types.int8(x[i])


@cuda.jit
def squares(x, out):
    i = cuda.grid(1)
    square = x[i] * x[i]
    out[i] = square + x[i]


@cuda.jit
def logarithms(x, out):
    i = cuda.grid(1)
    out[i] = math.log(x[i])


def found_in(kernel, *columns, out=np.int64):
    with cudasim.check("arithmetic") as found:
        kernel[1, len(columns[0])](*columns, np.zeros(len(columns[0]), out))
    assert {each.severity for each in found} <= {"warning"}
    return {each.kind: each.count for each in found}


def array(dtype, *values):
    return np.array(values, dtype)


@pytest.mark.parametrize("kernel", [shifted_left, shifted_right])
def test_shifts(kernel):
    ones = array(np.int64, 1, 1, 1, 1)
    assert found_in(kernel, ones, array(np.int64, 0, 1, 62, 63)) == {}
    assert found_in(kernel, ones, array(np.int64, 0, 64, -1, 63)) == {"shift-out-of-range": 2}


@pytest.mark.parametrize(
    "kernel, fits, does_not",
    [
        (
            to_int32,
            array(np.float32, -2147483648.0, 2147483520.0, 0.5),
            array(np.float32, 2147483648.0, math.nan),
        ),
        (
            to_int32,
            array(np.float64, -2147483648.9, 2147483647.9),
            array(np.float64, -2147483649.0, 2147483648.0),
        ),
        (to_uint32, array(np.float64, -0.9, 4294967295.9), array(np.float64, -1.0, 4294967296.0, math.inf)),
        (to_int8, array(np.float32, -128.9, 127.9), array(np.float32, -129, 128, 1e30)),
    ],
)
def test_conversions(kernel, fits, does_not):
    assert found_in(kernel, fits) == {}
    assert found_in(kernel, does_not) == {"float-to-integer": len(does_not)}


def test_the_first_number_that_is_not_finite():
    x = array(np.float32, 1, 3e38, -2)
    with cudasim.check("arithmetic") as found:
        squares[1, 3](x, np.zeros(3, np.float32))
    (finding,) = found
    assert (finding.kind, finding.tid, finding.count) == ("not-finite", (1, 0, 0), 1)
    assert finding.place.line == squares.py_func.__code__.co_firstlineno + 3
    assert found_in(squares, array(np.float32, math.inf, math.nan), out=np.float32) == {}
    assert found_in(logarithms, array(np.float32, 1, 0, -1), out=np.float32) == {"not-finite": 2}


@cuda.jit
def quotients(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] / y[i]


def test_a_division_by_zero_is_told_once():
    """Quotients of other divisors that are too large are a finding of their own."""
    out = np.zeros(2, np.float32)
    zeros, small = array(np.float32, 0, 0), array(np.float32, 0, 1e-30)
    assert found_in(quotients, array(np.float32, 1, -1), zeros, out=np.float32) == {"float-division": 2}
    assert found_in(quotients, array(np.float32, 1, 1e30), small, out=np.float32) == {
        "float-division": 1,
        "not-finite": 2,
    }
    with (
        options.override(check="arithmetic"),
        pytest.warns(errors.FloatDivisionWarning) as warned,
    ):
        quotients[1, 2](array(np.float32, 1, 1), zeros, out)
    assert [each.category for each in warned] == [errors.FloatDivisionWarning]
    session = CheckSession(schedules.first(1))
    with pytest.MonkeyPatch.context() as patch, options.override(check="arithmetic"):
        patch.setattr(check_session, "session", session)
        quotients[1, 2](array(np.float32, 1, 1), zeros, out)
    assert [(each.finding.kind, each.schedules) for each in session.found.values()] == [
        ("float-division", ("reverse", "forward"))
    ]


def test_it_is_for_those_who_ask():
    x = array(np.float32, 3e38)
    with cudasim.check("all") as found:
        squares[1, 1](x, np.zeros(1, np.float32))
    assert found == []
    with (
        options.override(check="arithmetic"),
        pytest.warns(errors.NotFiniteWarning, match="gives infinity or NaN"),
    ):
        squares[1, 1](x, np.zeros(1, np.float32))
