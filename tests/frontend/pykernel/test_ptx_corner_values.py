"""Rule V2: where Python, x86 and LLVM disagree or define nothing, kernels give what PTX gives.

Each table names the section of the "Parallel Thread Execution ISA" (docs.nvidia.com/cuda/parallel-thread-execution)
that it is read from. Values pass
through array elements, so that nothing is known while compiling; the second test of each table has constants.
"""

import numpy as np
import pytest
from cudasim import cuda, options
from kernel_checks import evaluate

NAN, INF = float("nan"), float("inf")
LOWEST, HIGHEST = -(2**63), 2**63 - 1
WIDTH = 64

# "Integer Arithmetic Instructions: div" and "rem": the quotient of the lowest integer by -1 does not fit; it
# wraps (hardware), and the remainder is 0. Python's // and % are made of them.
DIVISIONS = [
    (LOWEST, -1, LOWEST, 0),
    (HIGHEST, -1, -HIGHEST, 0),
    (LOWEST, 1, LOWEST, 0),
    (LOWEST, LOWEST, 1, 0),
    (-7, 2, -4, 1),
    (7, -2, -4, -1),
]

# "Logic and Shift Instructions: shl" and "shr": "shift amounts greater than the register width N are clamped
# to N"; shr.s fills with the sign. A negative amount is a large unsigned one.
SHIFTS = [
    (1, 63, LOWEST, 0),
    (1, 64, 0, 0),
    (-1, 64, 0, -1),
    (-1, 1000, 0, -1),
    (5, 1000, 0, 0),
    (5, -1, 0, 0),
    (LOWEST, 63, 0, -1),
    (LOWEST, 64, 0, -1),
]

# "Data Movement and Conversion Instructions: cvt": float to integer is clamped to the range of the
# destination; NaN is 0, except that it is 1 << (width - 1) where the source is .f64 or the destination is
# .s64 or .u64.
CONVERSIONS = {
    ("float64", "int32"): [(3e9, 2**31 - 1), (-3e9, -(2**31)), (INF, 2**31 - 1), (NAN, -(2**31)), (-2.9, -2)],
    ("float64", "int64"): [(1e19, HIGHEST), (-1e19, LOWEST), (-INF, LOWEST), (NAN, LOWEST), (2.9, 2)],
    ("float64", "uint32"): [(5e9, 2**32 - 1), (-1.0, 0), (-INF, 0), (NAN, 2**31), (2.9, 2)],
    ("float64", "uint64"): [(2e19, 2**64 - 1), (-1.0, 0), (INF, 2**64 - 1), (NAN, 2**63)],
    ("float32", "int32"): [(3e9, 2**31 - 1), (-3e9, -(2**31)), (NAN, 0), (-INF, -(2**31))],
    ("float32", "uint32"): [(5e9, 2**32 - 1), (-1.0, 0), (NAN, 0)],
    ("float32", "int64"): [(1e19, HIGHEST), (NAN, LOWEST)],
    ("float32", "uint64"): [(2e19, 2**64 - 1), (-1.0, 0), (NAN, 2**63)],
}

# "Floating Point Instructions: min" and "max": "if one of the inputs is NaN, the result is the other"; both
# NaN: NaN; +0.0 > -0.0.
EXTREMA = [
    (NAN, 1.0, 1.0, 1.0),
    (1.0, NAN, 1.0, 1.0),
    (NAN, NAN, NAN, NAN),
    (0.0, -0.0, -0.0, 0.0),
    (-0.0, 0.0, -0.0, 0.0),
    (INF, NAN, INF, INF),
    (2.0, 1.0, 1.0, 2.0),
]


@pytest.mark.parametrize(("a", "b", "quotient", "rest"), DIVISIONS)
def test_division(a, b, quotient, rest):
    def kernel(out, values):
        x, y = values[0], values[1]
        out[0], out[1], out[2], out[3] = x // y, x % y, divmod(x, y)[0], divmod(x, y)[1]

    expected = [quotient, rest, quotient, rest]
    assert list(evaluate(kernel, np.array([a, b]), dtype=np.int64, size=4)) == expected


def test_division_of_constants():
    def kernel(out):
        out[0], out[1] = LOWEST // -1, LOWEST % -1

    assert list(evaluate(kernel, dtype=np.int64, size=2)) == [LOWEST, 0]


@pytest.mark.parametrize(("value", "amount", "left", "right"), SHIFTS)
def test_shifts(value, amount, left, right):
    def kernel(out, values):
        out[0], out[1] = values[0] << values[1], values[0] >> values[1]

    assert list(evaluate(kernel, np.array([value, amount]), dtype=np.int64, size=2)) == [left, right]


def test_shifts_of_unsigned_and_of_constants():
    def kernel(out, values):
        out[0], out[1] = values[0] >> values[1], values[0] << values[1]
        out[2], out[3] = 1 << WIDTH, -1 >> WIDTH + 6

    result = evaluate(kernel, np.array([2**64 - 1, 64], np.uint64), dtype=np.int64, size=4)
    assert list(result) == [0, 0, 0, -1]


@pytest.mark.parametrize(("source", "target"), CONVERSIONS)
def test_conversion_to_integers(source, target):
    convert = getattr(np, target)

    def kernel(out, values):
        for i in range(len(values)):
            out[i] = convert(values[i])

    rows = CONVERSIONS[source, target]
    result = evaluate(kernel, np.array([value for value, _ in rows], source), dtype=target, size=len(rows))
    assert result.tolist() == [expected for _, expected in rows]


def test_storing_a_float_in_an_integer_array_converts_too():
    def kernel(out, values):
        out[0], out[1], out[2] = values[0], int(values[1]), values[2]

    result = evaluate(kernel, np.array([1e30, -1e30, NAN]), dtype=np.int64, size=3)
    assert result.tolist() == [HIGHEST, LOWEST, LOWEST]


def same(a, b):
    return np.array(a).tobytes() == np.array(b).tobytes() or (a != a and b != b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("a", "b", "smaller", "larger"), EXTREMA)
def test_min_and_max(a, b, smaller, larger, dtype):
    def kernel(out, values):
        x, y = values[0], values[1]
        out[0], out[1], out[2], out[3] = min(x, y), max(x, y), min((x, y)), max((x, y))

    result = evaluate(kernel, np.array([a, b], dtype), size=4).tolist()
    assert all(same(x, y) for x, y in zip(result, [smaller, larger, smaller, larger])), result


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_min_and_max_of_a_float_and_an_integer_compare(dtype, mode):
    """As an H100 computed on 23 November 2026 with numba-cuda 0.30.4."""

    def kernel(out, floats, integers):
        nan, negative_zero, i, zero = floats[0], floats[1], integers[0], integers[1]
        out[0], out[1] = max(nan, i), min(nan, i)
        out[2], out[3] = max(i, nan), min(i, nan)
        out[4], out[5] = max(negative_zero, zero), min(zero, negative_zero)
        out[6], out[7] = max((zero, nan)), max(i, nan, floats[2])

    with options.override(mode=mode):
        result = evaluate(
            kernel, np.array([NAN, -0.0, 2.5], dtype), np.array([7, 0], np.int8), dtype=np.float64, size=8
        ).tolist()
    expected = [NAN, NAN, 7.0, 7.0, -0.0, 0.0, 0.0, 7.0]
    assert all(same(x, y) for x, y in zip(result, expected)), result


def test_integer_division_by_zero_is_an_error():
    @cuda.jit
    def kernel(out, values):
        out[0] = values[0] // values[1]

    with pytest.raises(ZeroDivisionError, match=r"tid=\[0, 0, 0\] ctaid=\[0, 0, 0\]"):
        kernel[1, 1](np.zeros(1, np.int64), np.array([1, 0]))
