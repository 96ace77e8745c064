"""@vectorize for the CUDA target: what functions may do, types of elements, errors and warnings, options, reduce.

Where arguments and results lie, and how they are broadcast: test_vectorize.py.
"""

import math
import traceback
import warnings

import numpy as np
import pytest
from cudasim import cuda, errors, options, types


@pytest.fixture(autouse=True, params=["auto", "python"])
def mode(request):
    with options.override(mode=request.param):
        yield request.param


@cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def multiply_add(a, b):
    return a * b + a


@cuda.vectorize(["int64(int64, int64)"])
def quotient(a, b):
    return a // b


A32 = np.arange(12, dtype=np.float32)


# -- functions ---------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def clipped(x, low, high):
    return min(max(x, low), high)


def test_device_functions_and_constants_of_the_module():
    @cuda.vectorize(["float64(float64)"])
    def curve(x):
        return clipped(math.sin(x) * math.pi, -1.0, 1.0)

    x = np.linspace(-3, 3, 200)
    np.testing.assert_allclose(curve(x), np.clip(np.sin(x) * np.pi, -1, 1), rtol=1e-15)


def test_control_flow():
    @cuda.vectorize("int32(float64, float64, int32)")
    def escapes_after(x0, y0, limit):
        x = y = 0.0
        for i in range(limit):
            x, y = x * x - y * y + x0, 2 * x * y + y0
            if x * x + y * y > 4:
                return i
        return limit

    x, y = np.linspace(-2, 1, 30)[None, :], np.linspace(-1, 1, 20)[:, None]
    result = escapes_after(x, y, 50)
    assert result.shape == (20, 30) and result.dtype == np.int32
    expected = np.full((20, 30), 50)
    zx, zy = np.zeros((20, 30)), np.zeros((20, 30))
    for i in range(50):
        zx, zy = zx * zx - zy * zy + x, 2 * zx * zy + y
        expected[(expected == 50) & (zx * zx + zy * zy > 4)] = i
        zx, zy = np.where(expected < 50, 0, zx), np.where(expected < 50, 0, zy)
    np.testing.assert_array_equal(result, expected)


def test_lambdas_and_names_that_the_kernel_uses_itself():
    double = cuda.vectorize(["int64(int64)"])(lambda out: out * 2)
    np.testing.assert_array_equal(double(np.arange(5)), np.arange(5) * 2)

    @cuda.vectorize(["int64(int64)"])
    def i(a0):
        return a0 + 1

    np.testing.assert_array_equal(i(np.arange(5)), np.arange(5) + 1)


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                  "float32", "float64"])  # fmt: skip
def test_every_type(name):
    @cuda.vectorize([f"{name}({name}, {name})"])
    def larger(a, b):
        return a if a > b else b

    a = np.array([0, 1, 0, 1]).astype(name)
    b = np.array([0, 0, 1, 1]).astype(name)
    result = larger(a, b)
    assert result.dtype == np.dtype(name)
    np.testing.assert_array_equal(result, np.maximum(a, b))


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_numbers(name):
    @cuda.vectorize([f"{name}({name}, {name})"])
    def turned(a, b):
        return a * b.conjugate() + 1j

    random = np.random.default_rng(3)
    a, b = (random.normal(size=(2, 50)) + 1j * random.normal(size=(2, 50))).astype(name)
    result = turned(a, b)
    assert result.dtype == np.dtype(name)
    np.testing.assert_allclose(result, a * b.conj() + 1j, rtol=1e-5)
    np.testing.assert_allclose(turned(a, 2.0), a * 2 + 1j, rtol=1e-5)
    np.testing.assert_allclose(turned(a, 2j), a * -2j + 1j, rtol=1e-5)
    total = cuda.vectorize([f"{name}({name}, {name})"])(lambda x, y: x + y).reduce(a)
    np.testing.assert_allclose(total, a.sum(), rtol=1e-5)


def test_real_parts_of_complex_numbers():
    @cuda.vectorize(["float32(complex64)"])
    def squared_length(z):
        return z.real * z.real + z.imag * z.imag

    z = np.array([3 + 4j, -1j], np.complex64)
    assert squared_length(z).tolist() == [25.0, 1.0] and squared_length(z).dtype == np.float32


def test_half_precision():
    @cuda.vectorize(["float16(float16, float16)"])
    def product(a, b):
        return a * b

    a = np.linspace(-4, 4, 33).astype(np.float16)
    result = product(a, a[::-1].copy())
    assert result.dtype == np.float16
    np.testing.assert_array_equal(result, a * a[::-1])


def test_signatures_as_types_and_tuples():
    @cuda.vectorize([types.float32(types.float32), types.int32(types.int32)])
    def negative(x):
        return -x

    assert negative(A32).dtype == np.float32
    assert negative(A32.astype(np.int32)).dtype == np.int32


def test_a_signature_without_result_has_the_result_that_is_inferred(mode):
    with options.override(mode="native"):

        @cuda.vectorize([(types.int32, types.int32), (types.float32, types.float32)])
        def ratio(a, b):
            return a / b

    assert ratio(A32.astype(np.int32), np.ones(12, np.int32)).dtype == np.float64
    assert ratio(A32, A32 + 1).dtype == np.float32


def test_the_declared_result_converts(mode):
    if mode == "python":
        pytest.skip("tests/mode_differences.py: declared types do not convert")

    @cuda.vectorize(["int32(float64)"])
    def whole(x):
        return x

    np.testing.assert_array_equal(whole(np.array([1.9, -2.9])), np.array([1, -2], np.int32))


def test_max_blocksize_limits_the_block():
    @cuda.vectorize(["int64(int64)"])
    def thread(x):
        return cuda.threadIdx.x

    assert thread(np.zeros(100, np.int64)).max() == 99
    thread.max_blocksize = 32
    assert thread(np.zeros(100, np.int64)).max() == 31


def test_name_and_documentation_are_the_functions():
    @cuda.vectorize(["int64(int64)"])
    def documented(x):
        """Does nothing."""
        return x

    assert documented.__name__ == "documented" and documented.__doc__ == "Does nothing."
    assert list(documented.functions) == [(np.dtype("int64"),)]


# -- errors ------------------------------------------------------------------------------------------------


def test_a_fault_names_thread_and_line_of_the_function():
    with pytest.raises(ZeroDivisionError) as caught:
        quotient(np.arange(300), np.where(np.arange(300) == 270, 0, 1))
    block = 270 // 256 if "ctaid=[1" in str(caught.value) else 0
    assert str(caught.value).startswith(f"tid=[{270 - 256 * block}, 0, 0] ctaid=[{block}, 0, 0]: ")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "quotient" and "a // b" in frames[-1].line
    assert [frame.filename for frame in frames] == [__file__] * 2
    text = "".join(traceback.format_exception(caught.value))
    assert "in kernel quotient" in text and "<cudasim>" not in text


def test_a_fault_leaves_out_untouched():
    out = np.full(3, 77)
    with pytest.raises(ZeroDivisionError):
        quotient(np.arange(3), np.array([1, 1, 0]), out=out)
    assert (out == 77).all()


def test_an_exception_of_the_function():
    @cuda.vectorize(["float64(float64)"])
    def root(x):
        if x < 0:
            raise ValueError("negative")
        return math.sqrt(x)

    np.testing.assert_array_equal(root(np.array([4.0])), [2.0])
    with pytest.raises(ValueError, match=r"tid=\[1, 0, 0\] ctaid=\[0, 0, 0\]: negative"):
        root(np.array([4.0, -1.0]))


class OwnError(Exception):
    pass


def test_an_exception_class_of_the_functions_module():
    @cuda.vectorize(["int64(int64)"])
    def refuse(x):
        if x > 0:
            raise OwnError("positive")
        return x

    with pytest.raises(OwnError, match="positive"):
        refuse(np.array([0, 1]))


def test_float_division_by_zero_warns_at_the_functions_line():
    @cuda.vectorize(["float64(float64, float64)"])
    def ratio(a, b):
        return a / b

    with pytest.warns(errors.CudasimWarning, match="float division by zero") as caught:
        result = ratio(np.ones(3), np.array([1.0, 0.0, 0.0]))
    assert result.tolist() == [1.0, np.inf, np.inf]
    assert caught[0].filename == __file__ and caught[0].lineno == ratio_line(ratio)


def ratio_line(ufunc):
    ((_, kernel),) = ufunc.functions.values()
    return kernel.py_func.__wrapped__.__code__.co_firstlineno + 2


def test_what_the_compiler_does_not_know_yet_is_said_at_the_function(mode):
    if mode == "python":
        pytest.skip("Python mode was asked for: nothing to say")

    @cuda.jit(device=True)
    def take(iterator):
        return next(iterator)

    def first(x):
        return x + take(iter((97, 98)))

    with pytest.warns(errors.CudasimWarning, match="runs in Python mode") as caught:
        assert cuda.vectorize(["int64(int64)"])(first)(np.arange(2)).tolist() == [97, 98]
    assert caught[0].filename == __file__


def test_typing_errors_are_raised_where_the_function_is_decorated(mode):
    def wrong(x):
        return no_such_function(x)  # noqa: F821

    with options.override(mode="native"), pytest.raises(errors.TypingError, match="no_such_function"):
        cuda.vectorize(["float32(float32)"])(wrong)


@pytest.mark.parametrize(
    "keywords, error, text",
    [
        ({"cache": True}, TypeError, "caching is not supported"),
        ({"identity": "zero"}, ValueError, "Invalid identity value"),
        ({"fastmath": True}, KeyError, "fastmath"),
        ({"target": "cpu"}, ValueError, "Unsupported target"),
    ],
)
def test_options_that_are_refused(keywords, error, text):
    with pytest.raises(error, match=text):
        cuda.vectorize(["float32(float32)"], **keywords)(lambda x: x)


@pytest.mark.parametrize("identity", [0, 1, None, "reorderable"])
def test_identities_are_accepted(identity):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        add = cuda.vectorize(["float32(float32, float32)"], identity=identity)(lambda a, b: a + b)
    assert add(A32, A32)[3] == 6


def test_nopython_is_redundant():
    with pytest.warns(RuntimeWarning, match="redundant"):
        cuda.vectorize(["float32(float32)"], nopython=True)(lambda x: x)


def test_without_signatures_no_arguments_fit():
    with pytest.raises(errors.NumbaTypeError, match="signatures"):

        @cuda.vectorize
        def bare(x):
            return x

    @cuda.vectorize()
    def dynamic(x):
        return x

    with pytest.raises(TypeError, match="No matching version"):
        dynamic(A32)


@pytest.mark.parametrize("signature", ["float32(float32[:])", "float32[:](float32)", "void(float32)"])
def test_signatures_are_of_numbers(signature):
    with pytest.raises(TypeError, match="numbers"):
        cuda.vectorize([signature])(lambda x: x)


def test_arrays_without_dimensions_are_refused_as_by_numba():
    with pytest.raises(IndexError, match="without dimensions"):
        multiply_add(np.array(1.0), np.array(2.0))


def test_kernels_cannot_call_ufuncs(mode):
    def kernel(a):
        a[0] = multiply_add(a[0], a[1])

    with (
        options.override(mode="native"),
        pytest.raises(errors.TypingError, match="Cannot determine Numba type"),
    ):
        cuda.jit(kernel)[1, 1](np.ones(2))


# -- reduce ------------------------------------------------------------------------------------------------


@cuda.vectorize(["int64(int64, int64)", "float32(float32, float32)"], identity=0)
def add(a, b):
    return a + b


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 64, 1000, 1023])
@pytest.mark.parametrize("place", [np.asarray, cuda.to_device])
def test_reduce(size, place):
    values = np.random.default_rng(size).integers(-100, 100, size)
    result = add.reduce(place(values))
    assert result == values.sum() and result.dtype == np.int64


def test_reduce_combines_halves_as_on_a_gpu():
    values = (np.random.default_rng(1).random(8) * 1e6).astype(np.float32)
    halves = values.copy()
    while halves.size > 1:
        halves = halves[: halves.size // 2] + halves[halves.size // 2 :]
    assert add.reduce(values) == halves[0]


def test_reduce_leaves_a_host_array_and_uses_a_device_array():
    values = np.arange(8)
    device = cuda.to_device(values)
    assert add.reduce(values) == add.reduce(device, stream=cuda.stream()) == 28
    assert np.array_equal(values, np.arange(8))
    assert device[0] == 28


def test_reduce_refuses_what_numba_refuses():
    with pytest.raises(TypeError, match="empty"):
        add.reduce(np.empty(0, np.int64))
    with pytest.raises(AssertionError, match="1d"):
        add.reduce(np.ones((2, 2), np.int64))
    with pytest.raises(AssertionError, match="binary"):
        cuda.vectorize(["int64(int64)"])(lambda x: x).reduce(np.arange(4))
    assert not any(hasattr(add, name) for name in ("accumulate", "outer", "at", "reduceat"))
