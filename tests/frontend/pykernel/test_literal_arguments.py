"""Numbers known while compiling, types and functions stay known in device functions that get them as arguments: what they
say may be the shape or the dtype of an array, or an index of a tuple, however many functions lie between."""

import numpy as np
import pytest
from cudasim import cuda, errors, types
from kernel_checks import evaluate


@cuda.jit(device=True)
def last_of_shared(value, size):
    tile = cuda.shared.array(size, types.float32)
    tile[size - 1] = value
    return tile[size - 1]


@cuda.jit(device=True)
def first_of(value, size, dtype):
    scratch = cuda.local.array(size, dtype)
    scratch[0] = value
    return scratch[0]


@cuda.jit(device=True)
def one_level_up(value, size, dtype):
    return first_of(value, size, dtype)


@cuda.jit(device=True)
def two_levels_up(value, dtype, size):
    return one_level_up(value, dtype=dtype, size=size)


def test_a_constant_is_the_size_of_a_shared_array_in_a_device_function():
    def kernel(out):
        out[0] = last_of_shared(3, 16)
        out[1] = last_of_shared(4, 32)

    assert list(evaluate(kernel, size=2)) == [3, 4]


def test_size_and_dtype_go_through_several_device_functions():
    def kernel(out):
        out[0] = two_levels_up(3.5, np.int32, 16)
        out[1] = two_levels_up(3.5, types.float32, size=8)
        out[2] = two_levels_up(3.5, "int16", 8)

    assert list(evaluate(kernel, size=3)) == [3, 3.5, 3]


def test_defaults_and_keywords_are_known_too():
    @cuda.jit(device=True)
    def last_of(value, size=16):
        scratch = cuda.local.array(size, types.float32)
        scratch[size - 1] = value
        return scratch[size - 1]

    def kernel(out):
        out[0] = last_of(3.5)
        out[1] = last_of(4.5, size=4)

    assert list(evaluate(kernel, size=2)) == [3.5, 4.5]


def test_constants_come_from_variables_globals_tuples_and_spread_arguments():
    outside = 8

    @cuda.jit(device=True)
    def corner(value, shape):
        scratch = cuda.local.array(shape, types.float32)
        scratch[1, 2] = value
        return scratch[1, 2]

    @cuda.jit(device=True)
    def spread(*arguments):
        return first_of(*arguments)

    def kernel(out):
        size = 4
        out[0] = first_of(1, size, types.int64)
        out[1] = first_of(2, outside, types.int64)
        out[2] = corner(3, (2, 3))
        out[3] = spread(4, 4, types.int32)

    assert list(evaluate(kernel, size=4)) == [1, 2, 3, 4]


def test_functions_as_arguments_beside_constants():
    @cuda.jit(device=True)
    def add(a, b):
        return a + b

    @cuda.jit(device=True)
    def apply(operation, size, value):
        scratch = cuda.local.array(size, types.float64)
        scratch[0] = value
        return operation(scratch[0], size)

    def kernel(out):
        out[0] = apply(add, 4, 2.0)
        out[1] = apply(lambda a, b: a * b, 4, 2.0)

    assert list(evaluate(kernel, size=2)) == [6, 8]


def test_a_constant_is_an_index_of_a_tuple_of_different_types():
    @cuda.jit(device=True)
    def get(values, index):
        return values[index]

    def kernel(out):
        values = (1, 2.5)
        out[0] = get(values, 0)
        out[1] = get(values, 1)

    assert list(evaluate(kernel, size=2)) == [1, 2.5]


def test_a_function_that_needs_no_constants_is_typed_once():
    @cuda.jit(device=True)
    def plain(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = plain(1, 2) + plain(3, 4) + plain(5, 6)

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 21
    assert list(plain.overloads) == [(types.int64, types.int64)]


def test_recursion_goes_on_with_what_is_only_known_in_the_kernel():
    @cuda.jit(device=True)
    def factorial(n):
        if n <= 1:
            return 1
        return n * factorial(n - 1)

    def kernel(out):
        out[0] = factorial(5)

    assert evaluate(kernel) == 120


def test_a_number_only_known_in_the_kernel_is_refused_at_the_array():
    @cuda.jit
    def kernel(out, size):
        out[0] = first_of(1, size, types.int64)

    with pytest.raises(errors.TypingError, match="the shape must be a constant") as caught:
        kernel[1, 1](np.zeros(1), 4)
    assert "in first_of" in str(caught.value)
    assert "called from" in str(caught.value)


def test_what_is_wrong_with_the_constant_is_said():
    @cuda.jit
    def kernel(out):
        out[0] = first_of(1, -4, types.int64)

    with pytest.raises(ValueError, match="array length <= 0"):
        kernel[1, 1](np.zeros(1))
