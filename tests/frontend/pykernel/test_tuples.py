"""Tuples: values, types, and what they may be compared with. Expected types and refusals: numba-cuda 0.30.4."""

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, kernel_of_source, refusal, types_of

PAIR = (1, 2.5, (3, True))


@cuda.jit(device=True)
def first(pair):
    return pair[0]


@cuda.jit(device=True)
def nested(value):
    return value, (value + 1, 0.5)


def test_comparison_is_lexicographic():
    def kernel(out, t):
        out[0], out[1], out[2] = t < (1, 2, 4), t < (1, 2, 3), t <= (1, 2, 3)
        out[3], out[4], out[5] = t > (1, 2), t < (1, 2), t >= (0.5, 9.0)
        out[6], out[7], out[8] = t == (1, 2.0, 3), t != (1, 2, 3), () < (1,)
        out[9] = ((1, 2), 3) < ((1, 2), 4.5)

    assert list(evaluate(kernel, (1, 2, 3), size=10)) == [1, 0, 1, 1, 0, 1, 1, 0, 1, 1]


def test_comparison_with_nan_follows_python():
    values = (float("nan"), 1.0)

    def kernel(out, t):
        out[0], out[1], out[2], out[3] = t < (1.0, 1.0), t > (1.0, 1.0), t == t, t != t

    assert list(evaluate(kernel, values, size=4)) == [0, 0, 0, 1]


def test_constant_tuples_are_repeated_as_cpython_folds_them():
    def kernel(out):
        t, u = (1, 2.5) * 2, 2 * ((3, -4),)
        out[0], out[1], out[2], out[3] = len(t), t[3], u[1][1], len((1, 2) * 0)
        out[4], out[5] = len(() * -1), len(("a",) * True)
        out[6] = cuda.local.array((2,) * (1 + 2), np.float32).size

    assert list(evaluate(kernel, size=7)) == [4, 2.5, -4, 0, 0, 1, 8]


@pytest.mark.parametrize("expression", ["t * 2", "(n, 2) * 2", "(1, 2) * n", "(1, 2) * -1", "(1, 2) * 2.0"])
def test_other_tuples_are_not_repeated(expression):
    kernel = kernel_of_source(f"n, t = 2, (1, 2); out[0] = len({expression})", "out")
    assert "<built-in function mul>" in refusal(errors.TypingError, kernel, "array(float64, 1d, C)")


def test_membership():
    def kernel(out, x, t):
        out[0], out[1], out[2] = x in t, x not in t, 2.0 in t
        out[3], out[4] = x in (), (1, 2) in ((1, 2), (3, 4))

    assert list(evaluate(kernel, 7, (5, 6, 7), size=5)) == [1, 0, 0, 0, 1]


def test_minimum_maximum_sum_length_and_truth():
    def kernel(out, t, u):
        out[0], out[1], out[2], out[3] = min(t), max(t), sum(t), sum(t, 0.5)
        out[4], out[5], out[6] = len(t + u), bool(t), bool(())
        out[7] = 1 if t else 2
        out[8], out[9] = max(u), tuple(t)[1]

    assert list(evaluate(kernel, (5, 3, 4), (1, 2.5), size=10)) == [3, 5, 12, 12.5, 5, 1, 0, 1, 2.5, 3]


def test_types_of_tuple_operations():
    def kernel(t, u):
        a = t + u
        b = t[0]
        c = sum(t)
        d = max(u)
        e = (t, u)
        f = nested(t[0])
        g = min(t)

    assert types_of(kernel, "UniTuple(int32 x 2)", "Tuple(int8, float32)") == {
        "t": "UniTuple(int32 x 2)",
        "u": "Tuple(int8, float32)",
        "a": "Tuple(int32, int32, int8, float32)",
        "b": "int32",
        "c": "int64",
        "d": "float32",
        "e": "Tuple(UniTuple(int32 x 2), Tuple(int8, float32))",
        "f": "Tuple(int32, Tuple(int64, float64))",
        "g": "int32",
        "value": "int32",
    }


def test_elements_by_running_index_are_checked():
    def kernel(out, t, i):
        out[0] = t[i]

    assert evaluate(kernel, (4, 5, 6), 2) == 6
    assert evaluate(kernel, (4, 5, 6), -3) == 4
    with pytest.raises(IndexError, match=r"index 3 is out of bounds for axis 0 with size 3"):
        evaluate(kernel, (4, 5, 6), 3)


def test_tuples_of_tuples_by_running_index():
    def kernel(out, i, j):
        table = ((1, 2, 3), (4, 5, 6))
        out[0] = table[i][j]

    assert evaluate(kernel, 1, 2) == 6


def test_tuples_go_through_functions_variables_and_loops():
    def kernel(out, n, t):
        pair = (1, 2.5)
        for _ in range(n):
            pair = (pair[1], pair[0])
        out[0], out[1] = pair[0], pair[1]
        a, (b, c) = nested(n)
        out[2], out[3], out[4] = a, b, c
        total = 0
        for value in t:
            total += value
        for p, q in ((1, 2), (3, 4)):
            total += p * q
        out[5] = total
        out[6] = first(((1, 2), 3))[1]

    assert list(evaluate(kernel, 3, (10, 20), size=7)) == [2.5, 1, 3, 4, 0.5, 44, 2]


def test_nested_and_numpy_arguments():
    def kernel(out, t):
        out[0], out[1], out[2], out[3] = t[0], t[1][0], t[1][1][0], t[1][1][1]

    argument = (np.int8(-3), (np.float32(0.5), (True, 1 << 40)))
    assert list(evaluate(kernel, argument, size=4)) == [-3, 0.5, 1, 1 << 40]


def test_arrays_in_tuples_are_arguments_and_come_back():
    @cuda.jit
    def kernel(out, group, i):
        a, (b, factor) = group
        a[0] += factor
        b[0] = a[0]
        out[0] = len(group) + group[1][0].shape[0]

    out, a, b = np.zeros(1), np.zeros(2), cuda.to_device(np.zeros(3, np.float32))
    kernel[1, 1](out, (a, (b, 2.5)), 1)
    assert (out[0], a.tolist(), b.copy_to_host().tolist()) == (5, [2.5, 0], [2.5, 0, 0])


def test_arrays_in_a_tuple_by_running_index_and_in_a_loop():
    @cuda.jit
    def kernel(arrays, i):
        arrays[i][1] = 7
        for array in arrays:
            array[0] += len(arrays)

    a, b = np.zeros(2), np.ones(2)
    kernel[1, 1]((a, b), 1)
    assert (a.tolist(), b.tolist()) == ([2, 0], [3, 7])
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        kernel[1, 1]((a, b), 2)
    assert a.tolist() == [2, 0]


def test_global_tuples():
    def kernel(out, i):
        out[0], out[1], out[2], out[3] = PAIR[0], PAIR[1], PAIR[2][1], len(PAIR)

    assert list(evaluate(kernel, 1, size=4)) == [1, 2.5, 1, 3]


def test_tuples_index_arrays():
    def kernel(out, t):
        out[t] = 5
        out[1, 0] = out[t] + out[t[0], t[1]]

    out = np.zeros((2, 2))
    cuda.jit(kernel)[1, 1](out, (0, 1))
    assert out.tolist() == [[0, 5], [10, 0]]


def test_arguments_spread_from_tuples():
    @cuda.jit(device=True)
    def combine(a, b, c=100):
        return a + 10 * b + c

    def kernel(out, t):
        out[0], out[1], out[2] = combine(*t), combine(1, *(2, 3)), combine(*t, c=0)
        out[3] = max(*t)

    assert list(evaluate(kernel, (4, 5), size=4)) == [154, 24, 54, 5]


def test_the_rest_of_the_arguments_is_a_tuple():
    @cuda.jit(device=True)
    def combine(a, *rest):
        return a * len(rest) + sum(rest)

    def kernel(out, t):
        out[0], out[1], out[2] = combine(7), combine(1, 2, 3), combine(*t)

    assert list(evaluate(kernel, (4, 5, 6), size=3)) == [0, 7, 19]


def test_slices_with_constant_bounds_are_tuples():
    def kernel(out, t):
        out[0], out[1], out[2] = sum(t[1:]), t[::-1][0], len(t[:2])
        out[3], out[4], out[5] = t[-2:][0], len(t[5:]), t[::2][1]
        out[6] = t[0:2] == (5, 6)

    assert list(evaluate(kernel, (5, 6, 7), size=7)) == [13, 7, 2, 6, 0, 7, 1]


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2, 5, -5])
def test_slices_pick_what_python_picks(step):
    bounds = [None, 0, 1, 3, 4, 9, -1, -2, -5]
    values = (10, 20, 30, 40)
    expressions = [f"t[{a}:{b}:{step}]" for a in bounds for b in bounds]
    names = [text.replace("None", "") for text in expressions]
    source = "def kernel(out, t):\n" + "".join(
        f"    out[{i}] = sum((1,) + {text}) + 100 * len({text})\n" for i, text in enumerate(names)
    )
    expected = [1 + sum(eval(text, {"t": values})) + 100 * len(eval(text, {"t": values})) for text in names]
    assert list(evaluate(from_source(source), values, size=len(names))) == expected


def from_source(source):
    import linecache

    file = f"<slices {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {}
    exec(compile(source, file, "exec"), namespace)
    return namespace["kernel"]
