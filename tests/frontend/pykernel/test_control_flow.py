"""Shapes of control flow and assignment that a compiler easily gets wrong."""

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate

PAIRS = ((1, 2), (3, 4))


@cuda.jit(device=True)
def sign(value):
    if value > 0:
        return 1
    elif value < 0:
        return -1
    else:
        return 0


@cuda.jit(device=True)
def is_even_and_half(value):
    return value % 2 == 0, value / 2


@cuda.jit(device=True)
def always_raises():
    raise RuntimeError("never returns")


def test_kernels_that_do_nothing():
    @cuda.jit
    def empty():
        pass

    @cuda.jit
    def documented(x):
        """Only text."""

    empty[2, 3]()
    documented[1, 1](1.5)


def test_statements_after_return_are_not_compiled():
    def kernel(out):
        out[0] = 1
        return
        out[0] = 2

    assert evaluate(kernel) == 1


def test_endless_loop_with_return_inside():
    def kernel(out, n):
        i = 0
        while True:
            i += 1
            if i > n:
                out[0] = i
                return

    assert evaluate(kernel, 5) == 6


def test_nested_loops_with_break_continue_and_else():
    def kernel(out, n):
        for i in range(n):
            for j in range(n):
                if j == i:
                    continue
                if j > 3:
                    break
                out[0] += 10 * i + j
            else:
                out[1] += 1
        out[2], out[3] = i, j

    expected = [0, 0]
    for i in range(6):
        for j in range(6):
            if j == i:
                continue
            if j > 3:
                break
            expected[0] += 10 * i + j
        else:
            expected[1] += 1
    assert list(evaluate(kernel, 6, dtype=np.int64, size=4)) == [*expected, i, j]


def test_a_loop_variable_may_be_changed_inside():
    def kernel(out, n):
        for i in range(n):
            i *= 10
            out[0] += i

    assert evaluate(kernel, 4) == 60


def test_swaps_and_chained_and_nested_assignments():
    def kernel(out, a, b):
        a, b = b, a
        c = d = a + 1
        (e, f), g = (c, b), d * 2
        out[0], out[1], out[2], out[3], out[4], out[5] = a, b, c, e, f, g

    assert list(evaluate(kernel, 1, 2, size=6)) == [2, 1, 3, 3, 1, 6]


def test_assignment_evaluates_the_value_before_the_targets():
    def kernel(out):
        i = 0
        i, out[i] = 1, 5
        out[2] = i

    assert list(evaluate(kernel, size=3)) == [0, 5, 1]


def test_loops_unpack_tuples():
    def kernel(out):
        for a, b in PAIRS:
            out[0] = out[0] * 100 + a * 10 + b

    assert evaluate(kernel) == 1234


def test_functions_that_return_on_every_path():
    def kernel(out, x):
        out[0] = sign(x)
        even, half = is_even_and_half(x)
        out[1], out[2] = even, half

    assert list(evaluate(kernel, -4, size=3)) == [-1, 1, -2]
    assert list(evaluate(kernel, 3, size=3)) == [1, 0, 1.5]


def test_a_function_that_only_raises():
    def kernel(out, x):
        if x:
            always_raises()
        out[0] = 1

    assert evaluate(kernel, 0) == 1
    with pytest.raises(RuntimeError, match="never returns"):
        evaluate(kernel, 1)


def test_a_variable_assigned_on_one_path_only():
    def kernel(out, x):
        if x:
            y = 5
        if x:
            out[0] = y

    assert evaluate(kernel, 1) == 5 and evaluate(kernel, 0) == 0


def test_conditional_expressions_nest():
    def kernel(out, x):
        out[0] = 1 if x > 10 else 2 if x > 5 else 3

    assert [evaluate(kernel, x) for x in (11, 6, 1)] == [1, 2, 3]


def test_conditions_on_numbers_and_negations():
    def kernel(out, i, x):
        if not (i and not x) or i > 5 and x:
            out[0] = 1
        while i:
            i -= 1
            out[1] += 1

    for i, x in [(0, 0.0), (3, 0.0), (3, 0.5), (7, float("nan"))]:
        assert list(evaluate(kernel, i, x, size=2)) == [int(not (i and not x) or (i > 5 and bool(x))), i]


def test_booleans_in_arrays_tuples_and_arithmetic():
    def kernel(out, flags, flag):
        both = (flags[0], flag)
        out[0], out[1] = both[0] + both[1], both[1] * 2.5
        flags[1] = flag and flags[0]
        out[2] = flags[1]
        out[3] = True == flag

    assert list(evaluate(kernel, np.array([True, False]), True, size=4)) == [2, 2.5, 1, 1]


def test_a_long_function_with_many_branches():
    def kernel(out, n):
        total = 0
        for i in range(n):
            if i % 7 == 0:
                total += 1
            elif i % 5 == 0:
                total += 0.5
            elif i % 3 == 0:
                continue
            else:
                if i > 50:
                    break
                total -= 1
        out[0] = total

    total = 0
    for i in range(100):
        if i % 7 == 0:
            total += 1
        elif i % 5 == 0:
            total += 0.5
        elif i % 3 == 0:
            continue
        else:
            if i > 50:
                break
            total -= 1
    assert evaluate(kernel, 100) == total


def test_gpu_code_is_accepted_by_llvm_for_every_construct():
    """The same image goes through LLVM's NVPTX back end; without libdevice, which not every machine has."""

    @cuda.jit
    def kernel(out, n):
        tile = cuda.shared.array(0, np.float32)
        tile[0] = n**2 / 1.5 + tile.size
        cuda.atomic.max(out, 0, tile[0])
        for i in range(n):
            out[i] += abs(out[i]) + sign(i) // 2
        assert n > 0

    kernel[1, 1, 0, 64](np.zeros(4), 4)
    (ptx,) = kernel.inspect_asm().values()
    assert ".visible .entry kernel" in ptx and "%dynamic_smem_size" in ptx


def run_reversed(kernel, *arguments):
    out = np.full(16, -1.0)
    with pytest.warns(errors.CudasimWarning, match="Untyped global name 'reversed'") as caught:
        cuda.jit(kernel)[1, 1](out, *arguments)
    code = kernel.__code__
    assert [(w.filename, w.lineno) for w in caught] == [(code.co_filename, code.co_firstlineno + 2)]
    return [int(v) for v in out[: list(out).index(-1.0)]]


@pytest.mark.parametrize(
    "bounds", [(5,), (0,), (2, 9), (9, 2), (0, 10, 3), (10, 0, -3), (1, 2, 5), (3, 3, -1)]
)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_a_reversed_range_has_the_same_values_backwards(bounds, dtype):
    if dtype is np.uint8 and min(bounds) < 0:
        pytest.skip("not a uint8")
    start, stop, step = (*range(*bounds).__reduce__()[1], 1)[:3]

    def kernel(out, start, stop, step):
        n = 0
        for i in reversed(range(start, stop, step)):
            out[n] = i
            n += 1

    assert run_reversed(kernel, dtype(start), dtype(stop), dtype(step)) == list(reversed(range(*bounds)))


def test_reversed_arrays_rows_and_tuples():
    def over_array(out, a):
        n = 0
        for x in reversed(a):
            out[n] = x
            n += 1

    def over_rows(out, a):
        n = 0
        for row in reversed(a):
            out[n] = row[1]
            n += 1

    def over_tuple(out, a):
        n = 0
        for x in reversed((7, 8, 9)):
            out[n] = x
            n += 1

    a = np.arange(6)
    assert run_reversed(over_array, a) == [5, 4, 3, 2, 1, 0]
    assert run_reversed(over_array, a[:0].copy()) == []
    assert run_reversed(over_rows, a.reshape(3, 2)) == [5, 3, 1]
    assert run_reversed(over_tuple, a) == [9, 8, 7]


def test_the_type_of_an_arrays_elements_converts():
    def kernel(out, a):
        out[0] = a.dtype.type(2**24 + 1)

    assert evaluate(kernel, np.zeros(1, np.float32)) == 2**24
    assert evaluate(kernel, np.zeros(1, np.float64)) == 2**24 + 1
