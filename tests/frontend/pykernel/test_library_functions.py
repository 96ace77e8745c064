"""Functions that kernels call and that are device functions of cudasim.kernel_library, and those of Python's module
operator: values against NumPy and Python. Types are in test_type_facts.py, cmath in test_complex.py."""

import operator

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, refusal


def test_numpys_functions_of_arrays():
    def kernel(out, a, b):
        out[0] = np.trace(a) + np.trace(a, 1) * 10 + np.trace(a, -2) * 100 + np.trace(a, offset=5)
        out[1] = np.average(a)
        out[2] = np.nanvar(b)
        out[3] = np.nanstd(b)
        out[4] = np.nanvar(a.T) > 11

    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    b = np.array([1, np.nan, 3, 8.5])
    expected = [
        np.trace(a) + np.trace(a, 1) * 10 + np.trace(a, -2) * 100,
        a.mean(),
        np.nanvar(b),
        np.nanstd(b),
        1,
    ]
    np.testing.assert_allclose(evaluate(kernel, a, b, size=5), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.uint8])
def test_searchsorted(dtype):
    def kernel(out, a, b):
        for i in range(b.size):
            out[0, i] = np.searchsorted(a, b[i])
            out[1, i] = np.searchsorted(a, b[i], "right")
            out[2, i] = np.searchsorted(a[:0], b[i], side="left")

    a, b = np.array([1, 2, 2, 3, 5, 5, 9], dtype), np.array([0, 1, 2, 2.5, 5, 9, 100, np.nan])
    out = np.zeros((3, 8), np.int64)
    cuda.jit(kernel)[1, 1](out, a, b)
    expected = [
        np.searchsorted(a.astype(float), b),
        np.searchsorted(a.astype(float), b, "right"),
        np.zeros(8),
    ]
    np.testing.assert_array_equal(out, expected)


def test_searchsorted_of_another_side_is_an_error():
    def kernel(out, a):
        out[0] = np.searchsorted(a, 1.0, "middle")

    with pytest.raises(ValueError, match="side"):
        evaluate(kernel, np.ones(3))


def test_sinc_and_angles_of_real_numbers():
    def kernel(out, x, n):
        out[0] = np.sinc(x)
        out[1] = np.sinc(n)
        out[2] = np.sinc(0.0)
        out[3] = np.angle(-x)
        out[4] = np.angle(n, True)
        out[5] = np.real(n) + np.imag(x)

    expected = [np.sinc(np.float64(np.float32(0.3))), np.sinc(2.0), 1, np.pi, 0, 2]
    np.testing.assert_allclose(evaluate(kernel, np.float32(0.3), 2, size=6), expected, atol=1e-16, rtol=1e-14)


@pytest.mark.parametrize("call", ["np.trace(a)", "np.trace(a, 1)"])
def test_what_numba_refuses_is_refused_at_the_call(call):
    def kernel(out, a):
        out[0] = np.trace(a)

    message = refusal(errors.TypingError, kernel, "array(float64, 1d, C)", "array(int32, 2d, C)")
    assert "No implementation of numpy.trace for argument types (array(int32, 2d, C)" in message
    assert "out[0] = np.trace(a)" in message


def test_operators_as_functions():
    def kernel(out, a, b, x):
        out[0] = operator.add(a, b) + operator.sub(a, b) * operator.mul(a, x)
        out[1] = operator.truediv(a, b) + operator.floordiv(a, b) + operator.mod(a, b) + operator.pow(x, 2)
        out[2] = operator.lshift(a, 2) + operator.rshift(a, 1) + operator.and_(a, b) + operator.or_(a, b)
        out[3] = operator.xor(a, b) + operator.neg(a) + operator.pos(b) + operator.invert(a)
        out[4] = operator.eq(a, b) + 2 * operator.ne(a, b) + 4 * operator.lt(a, b) + 8 * operator.le(a, b)
        out[5] = (
            operator.gt(a, b)
            + 2 * operator.ge(a, b)
            + 4 * operator.not_(a)
            + 8 * operator.contains((1, a), 1)
        )
        out[6] = operator.iadd(a, b) + operator.imul(x, x) + operator.getitem(out, 0)
        operator.setitem(out, 7, operator.add((1, 2), (3.5,))[2])
        out[8] = operator.is_(a, a) + operator.is_not(a, None)

    a, b, x = 13, 5, 0.75
    expected = [18 + 8 * 9.75, 2.6 + 2 + 3 + x * x, 52 + 6 + 5 + 13, 8 - 13 + 5 - 14, 2, 3 + 8]
    expected += [18 + x * x + expected[0], 3.5, 2]
    np.testing.assert_allclose(evaluate(kernel, a, b, x, size=9), expected, rtol=1e-15)


def test_integer_operators_check_their_divisor():
    def kernel(out, a, b):
        out[0] = operator.floordiv(a, b)

    with pytest.raises(ZeroDivisionError):
        evaluate(kernel, 1, 0)


@pytest.mark.parametrize("name", ["truth", "abs", "index", "concat"])
def test_functions_of_operator_that_numba_does_not_have(name):
    function = getattr(operator, name)

    def kernel(out, a):
        out[0] = function(a)

    assert f"operator.{name}" in refusal(errors.TypingError, kernel, "array(float64, 1d, C)", "int64")


NAMES = ["bool_", "int8", "byte", "short", "intc", "int_", "intp", "longlong", "uint8", "ubyte", "ushort", "uintc", "uint",
         "uintp", "ulonglong", "single", "double", "float32", "csingle", "cdouble", "complex64"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_numpys_types_convert(name):
    kind = getattr(np, name)

    def kernel(out, a, b):
        out[0] = kind(a) == kind(7)
        out[1] = kind(b) == kind(7)
        out[2] = isinstance(kind(a), kind)

    assert evaluate(kernel, 7, 7.0, size=3).tolist() == [1, 1, 1]


def test_numpys_numbers_are_arguments_and_constants():
    third, small = np.float32(1 / 3), np.uint8(200)

    def kernel(out, a, b):
        out[0] = third * third
        out[1] = small + np.uint8(100)
        out[2] = a * a
        out[3] = b - 1

    out = evaluate(kernel, third, np.uint16(0), size=4)
    assert out.tolist() == [third * third, 300, third * third, -1]
