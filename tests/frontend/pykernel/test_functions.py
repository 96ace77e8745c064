"""Device functions, their arguments, and exceptions raised in kernels."""

import numpy as np
import pytest
from cudasim import cuda, types
from kernel_checks import evaluate, types_of


@cuda.jit(device=True)
def scaled(value, factor=2, shift=0.5):
    return value * factor + shift


@cuda.jit(device=True)
def divided(a, b):
    return a // b, a % b


@cuda.jit(device=True)
def fill(array, value):
    for i in range(len(array)):
        array[i] = value


@cuda.jit
def plain(value):
    return value + 1


@cuda.jit(device=True)
def checked(value):
    if value > 3:
        raise ValueError("too large")
    return value


def test_defaults_and_keywords():
    def kernel(out, x):
        out[0], out[1] = scaled(x), scaled(x, 3)
        out[2], out[3] = scaled(x, shift=1), scaled(shift=1, factor=4, value=x)

    assert list(evaluate(kernel, 10, size=4)) == [20.5, 30.5, 21, 41]


def test_each_call_is_typed_for_its_own_arguments():
    def kernel(a, b):
        r = plain(a)
        s = plain(b)

    types_found = types_of(kernel, "int32", "float32")
    assert (types_found["r"], types_found["s"]) == ("int64", "float64")


def test_functions_return_tuples_and_take_arrays():
    def kernel(out, a):
        quotient, rest = divided(17, 5)
        out[0], out[1] = quotient, rest
        fill(a, 7)
        out[2] = a[2]
        scratch = cuda.local.array(3, np.int32)
        fill(scratch, 4)
        tile = cuda.shared.array(2, np.float32)
        fill(tile, 2.5)
        out[3], out[4] = scratch[2], tile[1]

    assert list(evaluate(kernel, np.zeros(3), size=5)) == [3, 2, 7, 4, 2.5]


def test_functions_call_functions():
    @cuda.jit(device=True)
    def twice(value):
        return scaled(scaled(value, shift=0), shift=0)

    def kernel(out, x):
        out[0] = twice(x)

    assert evaluate(kernel, 3) == 12


def test_functions_with_signatures():
    @cuda.jit("float32(float32, float32)", device=True)
    def add(a, b):
        return a + b

    def kernel(out, x):
        out[0] = add(types.float32(x), types.float32(1))

    assert evaluate(kernel, 0.1) == np.float32(0.1) + np.float32(1)


def test_an_exception_carries_class_message_and_coordinates():
    def kernel(out, x):
        if x > 2:
            raise ValueError("x is too large")
        raise KeyError

    with pytest.raises(ValueError) as caught:
        evaluate(kernel, 3)
    assert str(caught.value) == "tid=[0, 0, 0] ctaid=[0, 0, 0]: x is too large"
    with pytest.raises(KeyError):
        evaluate(kernel, 1)


def test_exceptions_with_several_constants():
    def kernel(out):
        raise RuntimeError("code", 7, 0.5)

    with pytest.raises(RuntimeError) as caught:
        evaluate(kernel)
    assert str(caught.value).endswith(": ('code', 7, 0.5)")


def test_assert_with_and_without_message():
    def kernel(out, x):
        assert x < 5, "x must stay below 5"
        assert x != 3
        out[0] = x

    assert evaluate(kernel, 4) == 4
    with pytest.raises(AssertionError, match="x must stay below 5"):
        evaluate(kernel, 6)
    with pytest.raises(AssertionError):
        evaluate(kernel, 3)


def test_an_exception_in_a_function_ends_the_thread_there():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = checked(i) + 10

    out = np.zeros(8)
    with pytest.raises(ValueError, match=r"tid=\[4, 0, 0\] ctaid=\[0, 0, 0\]: too large"):
        kernel[1, 8](out)


def test_the_traceback_leads_into_the_function_and_its_caller():
    import traceback

    @cuda.jit
    def kernel(out):
        out[0] = checked(9)

    with pytest.raises(ValueError) as caught:
        kernel[1, 1](np.zeros(1))
    frames = traceback.extract_tb(caught.value.__traceback__)[-2:]
    assert [frame.name for frame in frames] == ["kernel", "checked"]
    assert [frame.line for frame in frames] == ["out[0] = checked(9)", 'raise ValueError("too large")']


def test_none_arguments_decide_is_none_while_compiling():
    @cuda.jit(device=True)
    def offset(value, by=None):
        if by is None:
            return value
        if by is not None and by > 100:
            by = 100
        return value + by

    def kernel(out, x):
        out[0], out[1], out[2] = offset(x), offset(x, 2.5), offset(x, 1000)

    assert list(evaluate(kernel, 1, size=3)) == [1, 3.5, 101]
