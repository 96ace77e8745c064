"""Loops over everything that Numba's CUDA target loops over, and the statements around them. Python runs the same
body and says what comes out."""

import numpy as np
import pytest
from cudasim import cuda
from kernel_checks import types_of

LIMIT = 4


def check(kernel, *arguments, size=40):
    """One thread of the kernel against Python."""
    out, expected = np.zeros(size), np.zeros(size)
    cuda.jit(kernel)[1, 1](out, *[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments])
    kernel(expected, *[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments])
    assert np.array_equal(out, expected)


def test_enumerate_counts_from_a_start():
    def kernel(out, a, n):
        for i, x in enumerate(a):
            out[i] = x
        for i, x in enumerate(a, 10):
            out[i] = x
        for pair in enumerate(a, n):
            out[pair[0]] = pair[1]
        for i, x in enumerate(range(3)):
            out[i] += x * 1000
        for i, x in enumerate((7, 8)):
            out[30 + i] = x

    check(kernel, np.arange(1.0, 5), 20)


def test_zip_stops_at_the_shortest():
    def kernel(out, a, b):
        n = 0
        for x, y, i in zip(a, b[::-1], range(100)):
            out[n] = x * y + i
            n += 1
        for (i, x), (j, y) in zip(enumerate(a), enumerate(b, 5)):
            out[n] = i * x + j * y
            n += 1
        for x, (y, z) in zip(b, zip(a, a)):
            out[n] = x + y + z
            n += 1
        for single in zip(a):
            out[n] = single[0]
            n += 1
        for nothing in zip():
            out[n] = 1

    check(kernel, np.arange(1.0, 6), np.arange(10.0, 13))
    check(kernel, np.arange(1.0, 3), np.arange(0.0))


def test_iterators_go_on_where_they_stopped():
    def kernel(out, a):
        it = iter(a)
        n = 0
        for x in it:
            out[n] = x
            n += 1
            if n == 2:
                break
        out[n] = next(it) * 10
        n += 1
        for x in it:
            out[n] = x * 100
            n += 1
        pairs = enumerate(a)
        for i, x in pairs:
            if i == 1:
                break
        for i, x in pairs:
            out[n] = i * 1000 + x
            n += 1

    check(kernel, np.arange(1.0, 7))


def test_next_of_an_exhausted_iterator_raises():
    @cuda.jit
    def kernel(a):
        it = iter(a)
        next(it)
        next(it)

    with pytest.raises(StopIteration):
        kernel[1, 1](np.zeros(1))


def test_an_iterator_made_on_one_path_only():
    def kernel(out, a, flag):
        if flag:
            it = iter(a[1:])
            next(it)
        if flag:
            for x in it:
                out[0] += x

    check(kernel, np.arange(5.0), 1)
    check(kernel, np.arange(5.0), 0)


def test_ndindex_and_ndenumerate():
    def kernel(out, a):
        n = 0
        for i, j in np.ndindex(2, 3):
            out[n] = 10 * i + j
            n += 1
        for index in np.ndindex(a.shape):
            out[n] = a[index]
            n += 1
        for (i, j), x in np.ndenumerate(a.T):
            out[n] = 100 * i + 10 * j + x
            n += 1

    check(kernel, np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize(
    "start, stop, step",
    [
        (0, 10, 3),
        (10, 0, -3),
        (5, 5, 1),
        (0, 5, -1),
        (2**63 - 3, 2**63 - 1, 1),
        (2**63 - 5, 2**63 - 1, 3),
        (-(2**63) + 3, -(2**63), -2),
        (0, 2**63 - 1, 2**62),
        (-3, 3, 1),
    ],
)
def test_ranges_with_run_time_bounds(start, stop, step):
    def kernel(out, start, stop, step):
        n = 0
        last = 0
        for i in range(start, stop, step):
            last = i
            n += 1
        out[0], out[1], out[2] = n, last, len(range(start, stop, step))

    check(kernel, start, stop, step)


@pytest.mark.parametrize(
    "dtype, loop",
    [
        (np.int8, "int32"),
        (np.uint8, "uint64"),
        (np.int16, "int32"),
        (np.int32, "int32"),
        (np.uint32, "uint64"),
        (np.int64, "int64"),
        (np.uint64, "uint64"),
        (np.bool_, "int32"),
    ],
)
def test_the_type_of_the_loop_variable(dtype, loop):
    def kernel(n):
        for i in range(n):
            k = i  # noqa: F841

    assert types_of(kernel, "bool" if dtype is np.bool_ else np.dtype(dtype).name)["i"] == loop


def test_else_of_loops_and_nested_break():
    def kernel(out, a, n):
        for i in range(n):
            for x in a:
                if x > i:
                    break
            else:
                out[i] = -1
                continue
            if i == 3:
                break
            out[i] = x
        else:
            out[20] = 1
        while n > 0:
            n -= 1
            if n == 2:
                break
        else:
            out[21] = 1
        out[22] = n

    for n in (0, 2, 3, 9):
        check(kernel, np.arange(5.0), n)


def test_chained_swapped_and_nested_assignment():
    def kernel(out, a, t):
        x = out[0] = y = a[1]
        x, y = y + 1, x - 1
        a[0], a[1] = a[1], a[0]
        (p, q), r = t, (x, y)
        [u, v] = r
        (out[1], out[2]), out[3] = r, p + q
        first, second, third = a
        out[4], out[5], out[6] = first, second, third
        out[7] = u * 10 + v
        i = 8
        i, out[i] = 9, 2
        out[i] = 3

    check(kernel, np.arange(1.0, 4), (5, 6))


@pytest.mark.parametrize("count", [2, 4])
def test_unpacking_an_array_of_another_length(count):
    @cuda.jit
    def kernel(a):
        x, y, z = a
        a[0] = x + y + z

    with pytest.raises(ValueError, match="to unpack"):
        kernel[1, 1](np.zeros(count))


def test_zip_of_iterators_takes_from_one_after_another():
    def kernel(out, a):
        it = iter(a)
        n = 0
        for x, y in zip(it, it):
            out[n] = x * 10 + y
            n += 1
        it = iter(a)
        for x, k in zip(it, range(2)):
            out[n] = x * 10 + k
            n += 1
        out[n] = next(it)  # the one that zip took before the range was exhausted is lost
        n += 1
        it = iter(a)
        for i, (x, (k, y)) in enumerate(zip(it, enumerate(it))):
            out[n] = i * 1000 + x * 100 + k * 10 + y
            n += 1
        it = iter(range(7))
        z = zip(it, (1.5, 2.5), it)
        out[n] = next(z)[2]
        out[n + 1] = next(z)[0]

    check(kernel, np.arange(1.0, 8))
    check(kernel, np.arange(1.0, 7))


def test_an_iterator_stays_itself_where_calls_are_spread():
    @cuda.jit(device=True)
    def total(x, y, z):
        return x + y + z

    @cuda.jit
    def kernel(out, a):
        it = iter(a)
        other = it
        t = (1, 2, 3)
        for k in range(4):
            out[k] = next(it) + total(*t) + total(*t) + total(*t) + total(*t)
            if out[k] > 1000:
                other = it
            it = other
        out[4] = next(other)

    out = np.zeros(5)
    kernel[1, 1](out, np.arange(5.0))
    assert list(out) == [24, 25, 26, 27, 4]


def test_augmented_assignment_evaluates_its_index_once():
    @cuda.jit(device=True)
    def count(calls):
        calls[0] += 1
        return calls[0]

    @cuda.jit
    def kernel(out, calls):
        out[count(calls)] += 5
        out[count(calls)] **= 2
        out[0] -= 1
        out[3] //= 2
        out[1:][2] *= 3

    out, calls = np.array([1.0, 2, 3, 9]), np.zeros(1, np.int64)
    kernel[1, 1](out, calls)
    assert list(out) == [0, 7, 9, 12] and calls[0] == 2


def test_assignment_expressions():
    def kernel(out, a):
        n = 0
        while (n := n + 1) < 5:
            if (half := n // 2) * 2 == n and (x := a[n]) > 1:
                out[n] = half + x
        out[0] = (last := n) + last
        out[10] = (k := 3) + k

    check(kernel, np.arange(9.0))


def test_annotations_docstrings_and_statements_without_effect():
    def kernel(out, a):
        """A docstring."""
        global LIMIT
        x: int = 3
        y: float
        y = 2
        1 + 1  # noqa: B018
        a[0]
        a[0] == 1  # noqa: B015
        ...
        "text"
        pass
        out[0] = x + y + LIMIT
        return None

    check(kernel, np.arange(3.0))


def test_loops_over_displays():
    def kernel(out, a):
        n = 0
        for x in (1, 2, 3):
            for y in [a[0], 4.5]:
                out[n] = x * y
                n += 1
        for d in a.shape:
            out[n] = d

    check(kernel, np.arange(2.0, 5))


def test_reading_past_the_end_in_a_discarded_expression_is_an_error():
    @cuda.jit
    def kernel(a, i):
        a[i]

    with pytest.raises(IndexError):
        kernel[1, 1](np.zeros(3), 3)


def test_a_list_of_many_branches_and_deep_nesting():
    depth, chain = 60, 2000
    body = "".join(f"{'    ' * (i + 1)}if n > {i}:\n" for i in range(depth))
    body += "    " * (depth + 1) + "out[0] = n\n"
    body += "    out[1] = " + " + ".join(["n"] * chain) + "\n"
    body += "    out[2] = " + "(" * 60 + "n" + " + 1)" * 60 + "\n"
    import linecache

    text = "def kernel(out, n):\n" + body
    linecache.cache["<deep>"] = (len(text), None, text.splitlines(True), "<deep>")
    namespace = {}
    exec(compile(text, "<deep>", "exec"), namespace)
    check(namespace["kernel"], depth + 1)
