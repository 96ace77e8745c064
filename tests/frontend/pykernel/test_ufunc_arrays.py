"""Ufuncs with an output array, np.sin(a, out): broadcasting, types, overlap, refusals. Values are those of the ufunc of
numbers, which test_numpy_calls.py has."""

import linecache

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import refusal

F32, F64, I32, C64, BOOL = ("array(float32, 1d, C)", "array(float64, 1d, C)", "array(int32, 1d, C)",
                            "array(complex64, 1d, C)", "array(bool, 1d, C)")  # fmt: skip


def kernel(body):
    source = f"def kernel(out, a, b):\n    {body}\n"
    file = f"<ufunc {body}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np}
    exec(compile(source, file, "exec"), namespace)
    return namespace["kernel"]


def check(ufunc, out, a, b=0.0, rtol=1e-6):
    operands = (a, b) if getattr(np, ufunc).nin == 2 else (a,)
    expected = out.copy()
    getattr(np, ufunc)(*operands, out=expected)
    names = "a, b" if len(operands) == 2 else "a"
    cuda.jit(kernel(f"np.{ufunc}({names}, out)"))[1, 1](out, a, b)
    np.testing.assert_allclose(out, expected, rtol=rtol)
    assert np.any(out != 0)


VALUES = np.linspace(0.1, 0.9, 12)


@pytest.mark.parametrize("ufunc", ["sin", "arccos", "tanh", "log2", "radians", "conjugate"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_operand(ufunc, dtype):
    check(ufunc, np.zeros(12, dtype), VALUES.astype(dtype))


@pytest.mark.parametrize("ufunc", ["arctan2", "hypot", "divide", "minimum", "fmax"])
def test_two_operands(ufunc):
    check(ufunc, np.zeros(12), VALUES, VALUES[::-1].copy())


@pytest.mark.parametrize(("ufunc", "dtype"), [("less", np.bool_), ("greater_equal", np.int8), ("not_equal", np.float32),
                                              ("logical_xor", np.bool_)])  # fmt: skip
def test_comparisons_store_booleans_as_any_number(ufunc, dtype):
    check(ufunc, np.zeros(12, dtype), VALUES, VALUES[::-1].copy() * (np.arange(12) != 3))


def test_bits_of_mixed_integers():
    a, b = np.arange(12, dtype=np.int32), np.arange(12, dtype=np.int64) * 3 + 1
    check("bitwise_or", np.zeros(12, np.int32), a, b)
    check("left_shift", np.zeros(12, np.int64), a, b % 5)


@pytest.mark.parametrize(("shape", "a", "b"), [
    ((3, 4), (3, 4), (4,)), ((3, 4), (3, 1), (1, 4)), ((3, 4), (4,), ()), ((2, 3, 4), (3, 1), (2, 1, 4)), ((4,), (1,), (4,)),
    ((3, 4), (), ()), ((), (), ()), ((0, 4), (4,), (1, 1)),
])  # fmt: skip
def test_operands_are_broadcast(shape, a, b):
    def values(extents):
        return np.random.default_rng(1).uniform(0.5, 2, extents)

    out, first, second = np.zeros(shape), values(a), values(b)
    expected = np.hypot(first, second) + np.zeros(shape)
    cuda.jit(kernel("np.hypot(a, b, out)"))[1, 1](out, first, second)
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("shape", "a", "b"), [((3, 4), (3,), (4,)), ((3, 1), (3, 4), ()), ((4,), (3, 4), (4,)), ((1,), (4,), ())]
)
def test_operands_that_do_not_fit_are_errors(shape, a, b):
    with pytest.raises(ValueError, match="could not be broadcast"):
        cuda.jit(kernel("np.hypot(a, b, out)"))[1, 1](np.zeros(shape), np.ones(a), np.ones(b))


def test_the_result_is_the_output_array_and_may_be_an_operand():
    out = np.array([0.25, 0.5])
    cuda.jit(kernel("out[1] = np.sin(out, out)[0] + np.cos(out[:1], a)[0]"))[1, 1](out, np.zeros(1), 0)
    first = np.sin(0.25)
    assert out[0] == first and out[1] == pytest.approx(first + np.cos(first), rel=1e-15)


def test_views_shared_and_local_memory():
    def body(out, a):
        shared = cuda.shared.array(4, np.float64)
        local = cuda.local.array((2, 2), np.float32)
        np.sin(a[::2], shared)
        np.cos(a[:4].reshape(2, 2), local)
        np.arctan2(shared, local[1, 0], out[::-1])

    out, a = np.zeros(4), np.linspace(0, 1, 8)
    cuda.jit(body)[1, 1](out, a)
    np.testing.assert_allclose(out[::-1], np.arctan2(np.sin(a[::2]), np.float32(np.cos(a[2]))), rtol=1e-7)


def test_complex_arrays():
    a = np.array([1 + 1j, -0.5j, 2], np.complex64)
    check("sin", np.zeros(3, np.complex64), a, rtol=1e-5)
    check("conjugate", np.zeros(3, np.complex128), a)
    check("divide", np.zeros(3, np.complex64), a, np.complex64(1j))


@pytest.mark.parametrize(("body", "types"), [
    ("np.sin(a, out)", (I32, I32, "int64")),
    ("np.sin(a, out)", (F32, C64, "int64")),
    ("np.sin(a)", (F32, F32, "int64")),
    ("np.sin((1.0, 2.0), out)", (F32, F32, "int64")),
    ("np.hypot(a, b, 1.0)", (F32, F32, F32)),
    ("np.add(a, b, out)", (F32, F32, F32)),
    ("np.sqrt(a, out)", (F32, F32, "int64")),
])  # fmt: skip
def test_refusals(body, types):
    with pytest.raises((errors.TypingError, errors.UnsupportedError)):
        from cudasim.compile import compiler

        compiler.compile_kernel(kernel(body), types)


def test_the_output_has_no_keyword_as_with_numba():
    assert "last argument" in refusal(NotImplementedError, kernel("np.sin(a, out=out)"), F32, F32, "int64")


def test_a_constant_output_is_refused():
    table = np.zeros(3)

    def body(out, a, b):
        np.sin(a, table)

    assert "constant" in refusal(errors.TypingError, body, F64, F64, "int64")
