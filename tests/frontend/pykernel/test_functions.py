"""Device functions, their arguments, and exceptions raised in kernels."""

import linecache
import textwrap

import numpy as np
import pytest
from cudasim import cuda, errors, types
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
    assert caught.value.args == ("tid=[0, 0, 0] ctaid=[0, 0, 0]: code", 7, 0.5)


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


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit(device=True)
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@cuda.jit(device=True)
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


@cuda.jit(device=True)
def widens(n):
    if n < 1:
        return 1
    result = widens(n - 1)
    return result + 0.5


@cuda.jit(device=True)
def fill_down(array, n):
    if n >= 0:
        array[n] = n
        fill_down(array, n - 1)


@cuda.jit(device=True)
def wraps_deeper(value, n):
    if n == 0:
        return 0
    return wraps_deeper((value, value), n - 1)


@cuda.jit(device=True)
def nests(value, n):
    if n == 0:
        return 0
    return nests((value,), n - 1)


def test_recursion():
    def kernel(out, n):
        out[0], out[1], out[2], out[3] = factorial(n), fibonacci(n), is_even(n), is_odd(n)
        out[4] = widens(n)

    assert list(evaluate(kernel, 5, size=5)) == [120, 5, 0, 1, 3.5]


def test_recursion_without_a_result():
    def kernel(out, n):
        fill_down(out, n)

    assert list(evaluate(kernel, 3, size=4)) == [0, 1, 2, 3]


def test_types_of_recursive_functions_are_those_of_all_their_returns():
    def kernel(n, m):
        r = fibonacci(n)
        s = widens(n)
        t = is_odd(n)
        u = factorial(m)

    types_found = types_of(kernel, "int32", "float32")
    assert [types_found[name] for name in "rstu"] == ["int64", "float64", "bool", "float64"]


def test_recursion_that_is_too_deep_ends_the_thread():
    @cuda.jit(device=True)
    def depth(n):
        if n == 0:
            return 0
        return 1 + depth(n - 1)

    def kernel(out, n):
        out[0] = depth(n)

    assert evaluate(kernel, 500) == 500
    with pytest.raises(RecursionError, match="stack overflow"):
        evaluate(kernel, 10**7)


def test_recursion_with_ever_new_types_is_refused():
    def kernel(out):
        out[0] = wraps_deeper(1, 3)

    with pytest.raises(errors.UnsupportedError, match="tuples of more than 1000 values"):
        evaluate(kernel)

    def deeper(out):
        out[0] = nests(1, 3)

    with pytest.raises(errors.TypingError, match="runaway recursion"):
        evaluate(deeper)


def chain(length):
    """The last of so many device functions, each of which calls the one before."""
    lines = ["@cuda.jit(device=True)", "def call0(x):", "    return x"]
    for i in range(1, length):
        lines += ["@cuda.jit(device=True)", f"def call{i}(x):", f"    return call{i - 1}(x) + 1"]
    text = "\n".join(lines) + "\n"
    file = f"<chain of {length}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {"cuda": cuda}
    exec(compile(text, file, "exec"), namespace)
    return namespace[f"call{length - 1}"]


@pytest.mark.parametrize("length", [150, 300])
def test_a_long_chain_of_device_functions_is_no_recursion(length):
    last = chain(length)

    def kernel(out, n):
        out[0] = last(n)

    assert evaluate(kernel, 5) == 4 + length


def test_too_long_a_chain_of_device_functions_is_refused():
    last = chain(2100)

    def kernel(out, n):
        out[0] = last(n)

    with pytest.raises(errors.UnsupportedError, match="nested more than 2000 deep") as caught:
        evaluate(kernel, 5)
    assert "in call10" in str(caught.value) and str(caught.value).count("called from") < 20


@cuda.jit(device=True)
def only_large(value):
    if value > 1:
        return value


def test_functions_that_return_nothing_on_some_paths():
    def kernel(out, n):
        large, small = only_large(n), only_large(0)
        out[0] = large + 1
        out[1] = 7 if small is None else small
        out[2] = large is not None
        out[3] = 1 if small else 2
        if large is not None:
            out[4] = large

    assert list(evaluate(kernel, 5, size=5)) == [6, 7, 1, 2, 5]


def test_using_the_value_that_is_not_there_is_a_type_error_of_the_kernel():
    def kernel(out, n):
        out[0] = only_large(n) + 1

    with pytest.raises(TypeError, match=r"tid=\[0, 0, 0\] ctaid=\[0, 0, 0\]: expected int64, got None"):
        evaluate(kernel, 0)


def test_variables_that_may_be_none():
    def kernel(out, n):
        found = None
        for i in range(n):
            if i * i > 10:
                found = i
                break
        out[0] = -1 if found is None else found

    assert (evaluate(kernel, 10), evaluate(kernel, 2)) == (4, -1)


def test_functions_inside_a_kernel_see_variables_as_they_are_at_the_call():
    def kernel(out):
        k = 1

        def plus(a, factor=2):
            return a * factor + k

        out[0] = plus(10)
        k = 7
        out[1], out[2] = plus(10), plus(10.5, factor=3)
        twice = lambda a: plus(a) * 2  # noqa: E731
        out[3] = twice(1)

    assert list(evaluate(kernel, size=4)) == [21, 27, 38.5, 18]


def test_functions_inside_a_kernel_have_variables_of_their_own():
    def kernel(out, n):
        i = 100

        def search(limit):
            for i in range(limit):
                if i == 3:
                    return i
            return -1

        def apply(function, value):
            return function(value) + 1

        out[0], out[1], out[2] = search(n), search(2), i
        out[3] = apply(search, n)

    assert list(evaluate(kernel, 10, size=4)) == [3, -1, 100, 4]


def test_device_functions_have_functions_inside_too():
    @cuda.jit(device=True)
    def outer(value):
        def half(a):
            return a / 2

        return half(value) + half(1)

    def kernel(out, x):
        out[0] = outer(x)

    assert evaluate(kernel, 5) == 3


def test_declared_signatures_convert_arguments_and_result():
    @cuda.jit("float32(float32, int32)", device=True)
    def divide(a, b):
        return a / b

    @cuda.jit(["int32(int32)", "float64(float64)"], device=True)
    def triple(a):
        return a * 3

    @cuda.jit("void(float64[:], int64)", device=True)
    def store(array, value):
        array[0] = value

    def kernel(out, n):
        out[0], out[1], out[2] = divide(1.0, n), triple(2.5), triple(np.int32(2))
        store(out, 2.75)
        out[3] = out[0]
        out[0] = divide(1.0, n)

    def types_kernel(n):
        r = divide(1.0, n)
        s = triple(n)
        t = triple(1.5)

    types_found = types_of(types_kernel, "int32")
    assert [types_found[name] for name in "rst"] == ["float32", "int32", "float64"]
    assert list(evaluate(kernel, 3, size=4)) == [np.float32(1) / np.float32(3), 7.5, 6, 2]


def test_declared_signatures_refuse_what_does_not_fit():
    @cuda.jit("int32(int32[:])", device=True)
    def length(array):
        return len(array)

    def kernel(out):
        out[0] = length(2.5)

    with pytest.raises(errors.TypingError, match=r"No declared signature of length\(\) fits .*float64"):
        evaluate(kernel)


def test_isinstance_and_type_are_known_while_compiling():
    @cuda.jit(device=True)
    def head(value):
        if isinstance(value, tuple):
            return value[0]
        return value

    def kernel(out, x):
        out[0], out[1] = head(x), head((x, 1))
        out[2], out[3] = isinstance(x, float), isinstance(x, (int, tuple))
        out[4] = type(x)(7) / 2

    assert list(evaluate(kernel, 2.5, size=5)) == [2.5, 2.5, 1, 0, 3.5]


def test_annotations_are_not_looked_at():
    """They may name what kernels cannot use, or nothing at all (from __future__ import annotations)."""
    text = textwrap.dedent("""
        from __future__ import annotations
        import numpy as np
        from cudasim import cuda

        @cuda.jit(device=True)
        def added(x: np.integer, k: Nothing[np.floating] = 1) -> np.floating:
            total: np.integer = x + k
            return total

        @cuda.jit
        def kernel(out: np.ndarray, x: Missing) -> None:
            out[0] = added(x, 2)
    """)
    linecache.cache["<annotated>"] = (len(text), None, text.splitlines(True), "<annotated>")
    names = {}
    exec(compile(text, "<annotated>", "exec"), names)
    out = np.zeros(1)
    names["kernel"][1, 1](out, 5)
    assert out[0] == 7
