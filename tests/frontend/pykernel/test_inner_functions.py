"""Functions inside kernels that are defined again, assign to the variables around them, or are passed on; functions as
values; exceptions made before they are raised. Values: Python's. Refusals: numba-cuda 0.30.4."""

import linecache
import sys

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, refusal


@cuda.jit(device=True)
def apply(function, x, y):
    return function(x, y)


@cuda.jit(device=True)
def add(x, y):
    return x + y


@cuda.jit(device=True)
def subtract(x, y):
    return x - y


FUNCTIONS = (add, subtract)
SAME = (add, add)


def test_a_function_defined_again_is_the_newer_one():
    def kernel(out, b):
        def g(x):
            return x + 1

        out[0] = g(b)

        def g(x):  # noqa: F811
            return x * 10

        out[1] = g(b)

    assert list(evaluate(kernel, 4, size=2)) == [5, 40]


def test_a_definition_in_a_branch_does_not_reach_the_other_one():
    def kernel(out, b):
        def g(x):
            return x

        if b > 0:

            def g(x):  # noqa: F811
                return x + 1

            out[0] = g(b)
        else:
            out[0] = g(b)

    assert evaluate(kernel, 4) == 5
    assert evaluate(kernel, -4) == -4


def test_nonlocal_names_are_the_variables_around():
    def kernel(out, b):
        count, total = 0, 0.5

        def step(x):
            nonlocal count, total
            count += 1
            total = total * x
            local = total
            return local

        local = 100
        out[0] = step(b) + step(b)
        out[1], out[2], out[3] = count, total, local

    assert list(evaluate(kernel, 3.0, size=4)) == [1.5 + 4.5, 2, 4.5, 100]


def test_functions_inside_are_arguments_of_device_functions():
    def kernel(out, x):
        def g(a, b):
            def inner(c):
                return c * 2

            return inner(a) - b

        out[0] = apply(g, x, 1)
        out[1] = apply(lambda a, b: a * b, x, 5)
        out[2] = apply(g, 1, 0.5)
        h = g
        out[3] = h(x, 3)

    assert list(evaluate(kernel, 7, size=4)) == [13, 35, 1.5, 11]


def test_functions_in_tuples_and_variables():
    def kernel(out, x, i):
        out[0], out[1] = FUNCTIONS[0](x, 1), FUNCTIONS[1](x, 1)
        out[2] = SAME[i](x, 2)
        pair = (subtract, add)
        chosen = pair[0]
        out[3] = chosen(x, 3)
        same = add if i else add
        out[4] = same(x, 4)
        for function in cuda.literal_unroll(FUNCTIONS):
            out[5] += function(x, 0.5)

    assert list(evaluate(kernel, 10, 1, size=6)) == [11, 9, 12, 7, 14, 20]


def test_exceptions_are_made_before_they_are_raised():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        late = ValueError("late")
        bare = TypeError
        if a[i] > 2:
            raise late
        if a[i] > 1:
            raise bare
        if a[i] > 0:
            raise bare("missing")

    for value, error, text in ((3, ValueError, "late"), (2, TypeError, ""), (1, TypeError, "missing")):
        with pytest.raises(error, match=rf"tid=\[1, 0, 0\] ctaid=\[0, 0, 0\].*{text}"):
            kernel[1, 2](np.array([0, value]))
    kernel[1, 2](np.zeros(2))


def test_an_exception_that_is_only_made_does_nothing():
    def kernel(out):
        ValueError("nothing")
        error = TypeError("neither")  # noqa: F841
        out[0] = 1

    assert evaluate(kernel) == 1


def test_minimum_and_maximum_of_tuples():
    def kernel(out, a):
        out[0], out[1] = min(zip(a, a[::-1]))
        out[2], out[3] = max(enumerate(a))
        out[4] = max(a)

    assert list(evaluate(kernel, np.array([3.0, 1.0, 2.0]), size=5)) == [1, 1, 2, 2, 3]


def test_the_address_of_an_array():
    def kernel(out, a):
        a.ctypes  # noqa: B018
        out[0] = a[1:].ctypes.data - a.ctypes.data

    assert evaluate(kernel, np.zeros(2, np.float32)) == 4


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = b\n    def g(p, q): return p + y\n    a[0] = apply(g, b, b)", "Cannot capture the value of 'y'"),
        ("if b:\n        def g(x): return x\n    else:\n        def g(x): return x + 1\n    a[0] = g(b)", "different paths define"),
        ("f = add if b else subtract\n    a[0] = f(b, b)", "Cannot unify Function("),
        ("a[0] = FUNCTIONS[b](b, b)", "several types"),
    ],
)  # fmt: skip
def test_refusals(body, message):
    source = f"def kernel(a, b):\n    {body}\n"
    namespace = {"apply": apply, "add": add, "subtract": subtract, "FUNCTIONS": FUNCTIONS}
    exec(compile(source, "<refused function>", "exec"), namespace)
    linecache.cache["<refused function>"] = (len(source), None, source.splitlines(True), "<refused function>")
    assert message in refusal(errors.TypingError, namespace["kernel"], "array(float64, 1d, C)", "int64")


def test_a_function_that_is_defined_again_in_a_loop_is_refused_as_by_numba():
    from cudasim import errors, options

    def kernel(out):
        def same(x):
            return x

        for i in range(2):
            out[i] = same(i)

            def same(x):
                return x + 1

    with (
        options.override(mode="native"),
        pytest.raises(errors.UnsupportedError, match="defined again in a loop") as refusal,
    ):
        cuda.jit(kernel)[1, 1](np.zeros(2))
    assert refusal.value.standing == "not-gpu-code"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="earlier CPythons evaluate annotations")
def test_deferred_annotations_are_not_evaluated():
    def pair(x: NotThere, by: np.NotThere = 2) -> NotThere.either:
        local: NotThere = x
        return local * by, local + by

    device_function = cuda.jit(device=True)(pair)

    def kernel(out: NotThere[2], x: "NotThere"):
        def inner(y: NotThere, z: out.NotThere = 1) -> NotThere:
            return y - z

        first, second = device_function(x, by=3)
        out[0], out[1], out[2] = first, second, inner(x)

    assert list(evaluate(kernel, np.int64(7), size=3)) == [21, 10, 6]
