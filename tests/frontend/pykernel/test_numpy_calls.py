"""NumPy's functions on numbers, reductions of arrays and what numbers and tuples can be asked: the same text under
Numba's CPU compiler gives the same values. Types are in test_types_follow_numba.py, refusals in
test_array_refusals.py, reductions of random views in test_array_programs.py."""

import math

import numba_oracle
import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, types_of

ORACLE = numba_oracle.start()
needs_oracle = pytest.mark.skipif(
    ORACLE is None, reason="CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba"
)

TRIGONOMETRY = [
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "log",
    "log2",
    "log10",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
]
EXACT = ["isnan", "logical_not", "conj"]
PAIRS = [
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "divide",
]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
FLOATS = [-2.5, -1.0, -0.0, 0.0, 0.25, 1.0, 3.0, math.inf, -math.inf, math.nan]
WHOLE = [-100, -3, -1, 0, 1, 2, 5, 100]


def table(names, values, dtypes):
    """A kernel of one row for each function and pair of values, and its arguments."""
    first, second = (np.array(values, dtype=dtype) for dtype in dtypes)
    lines = "".join(
        f"        for j in range(b.size):\n            out[{k}, i, j] = np.{name}(a[i], b[j])\n"
        for k, name in enumerate(names)
    )
    source = f"def kernel(out, a, b):\n    for i in range(a.size):\n{lines}"
    return source, [np.zeros((len(names), first.size, second.size)), first, second]


def compare(source, arguments, exact=True):
    answer = ORACLE.run(source, arguments)
    assert answer.error == ""
    cuda.jit(numba_oracle.function_from(source))[1, 1](*arguments)
    if exact:
        assert np.array_equal(
            arguments[0].view(np.int64), answer.arguments[0].view(np.int64)
        ) or np.array_equal(arguments[0], answer.arguments[0], equal_nan=True)
    else:
        # The C library's float32 functions, which Numba calls on the CPU, are off by an ulp or two.
        single = arguments[1].dtype.itemsize <= 2 or arguments[1].dtype == np.float32
        np.testing.assert_allclose(arguments[0], answer.arguments[0], rtol=3e-7 if single else 1e-15)


@needs_oracle
@pytest.mark.parametrize(
    "dtypes", [(np.float64, np.float64), (np.float32, np.float32), (np.float32, np.float64)]
)
def test_ufuncs_of_two_floats(dtypes):
    compare(*table(PAIRS, FLOATS, dtypes))


@needs_oracle
@pytest.mark.parametrize(
    "dtypes", [(np.int64, np.int64), (np.int8, np.int16), (np.int32, np.float32), (np.int64, np.float64)]
)
def test_ufuncs_of_two_integers(dtypes):
    compare(*table(PAIRS, WHOLE, dtypes))


@needs_oracle
@pytest.mark.parametrize(
    "dtypes", [(np.int64, np.int64), (np.int8, np.int8), (np.uint8, np.int16), (np.uint32, np.uint8)]
)
def test_ufuncs_of_bits(dtypes):
    compare(*table(BITS, [0, 1, 2, 5, 7], dtypes))


@needs_oracle
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
def test_ufuncs_of_one_number(dtype):
    values = np.array(FLOATS if np.dtype(dtype).kind == "f" else [0, 1, 2, 90], dtype)
    lines = "".join(f"        out[{k}, i] = np.{name}(a[i])\n" for k, name in enumerate(EXACT + TRIGONOMETRY))
    source = f"def kernel(out, a):\n    # {np.dtype(dtype)}\n    for i in range(a.size):\n{lines}"
    rows = np.zeros((len(EXACT + TRIGONOMETRY), values.size))
    compare(source, [rows, values], exact=False)


def test_of_two_nans_and_of_two_zeros_the_first_counts():
    def kernel(out):
        out[0] = np.minimum(0.0, -0.0)
        out[1] = np.maximum(-0.0, 0.0)
        out[2] = np.minimum(math.nan, 1.0)
        out[3] = np.maximum(1.0, math.nan)
        out[4] = np.fmin(math.nan, 1.0)
        out[5] = np.fmax(1.0, math.nan)

    signs = evaluate(kernel, size=6)
    assert [math.copysign(1, value) for value in signs[:2]] == [1, -1]
    assert np.isnan(signs[2:4]).all() and list(signs[4:]) == [1, 1]


def test_ufuncs_keep_narrow_types():
    def kernel(x):
        r = np.minimum(x, x)
        s = np.sin(np.int16(x))
        t = np.sum(cuda.local.array(3, np.float32))

    types = types_of(kernel, "int8")
    assert (types["r"], types["s"], types["t"]) == ("int8", "float32", "float32")


@needs_oracle
def test_rounding():
    source = """def kernel(out, x, y, i):
    out[0] = np.round(x)
    out[1] = np.round(y, 2)
    out[2] = np.around(x, -1)
    out[3] = np.round(i)
    out[4] = np.round(i, -2)
    out[5] = np.round(i, 2)
    out[6] = np.round(-2.5)
"""
    compare(source, [np.zeros(7), 126.5, np.float32(2.345), 12345])


@needs_oracle
def test_limits_of_number_types():
    names = [
        "bits",
        "eps",
        "epsneg",
        "iexp",
        "machep",
        "max",
        "maxexp",
        "min",
        "minexp",
        "negep",
        "nexp",
        "nmant",
        "precision",
        "resolution",
        "tiny",
    ]
    terms = [f"np.finfo(np.{t}).{name}" for t in ("float32", "float64") for name in names]
    terms += [
        f"np.iinfo(np.{t}).{name}"
        for t in ("int8", "uint8", "int32", "uint32", "int64", "uint64")
        for name in ("bits", "min", "max")
    ]
    terms += ["np.finfo(a.dtype).eps", "np.iinfo(i).max", "np.finfo(1.5).max"]
    lines = "".join(f"    out[{k}] = {term}\n" for k, term in enumerate(terms))
    compare(f"def kernel(out, a, i):\n{lines}", [np.zeros(len(terms)), np.zeros(2, np.float32), 3])


def test_dtypes_are_made_in_kernels():
    def kernel(out, a):
        shared = cuda.shared.array(3, np.dtype("i2"))
        local = cuda.local.array((2, 2), dtype=np.dtype(np.complex64))
        out[0], out[1] = shared.itemsize, local.nbytes
        out[2] = np.dtype("float32").type(0.1)
        out[3] = a.view(np.dtype("<i8"))[0]
        out[4], out[5] = np.dtype(np.int8) == np.dtype("i1"), np.dtype("f4") == np.dtype("f8")

    assert evaluate(kernel, np.ones(1), size=6).tolist() == [2, 32, np.float32(0.1), 0x3FF << 52, 1, 0]


def test_what_is_no_dtype_is_refused():
    def kernel(out, a):
        out[0] = np.dtype("no such type").type(1)

    with pytest.raises(errors.TypingError, match="dtype"):
        evaluate(kernel, 1.0)


@needs_oracle
def test_sums_and_extrema_of_what_loops_run_over():
    source = """def kernel(out, f, ia, b):
    out[0] = sum(f)
    out[1] = sum(ia, 3)
    out[2] = sum(f, 1.5)
    out[3] = sum(range(2, 9, 3))
    out[4] = min(f)
    out[5] = max(ia[::-1])
    out[6] = max(b.flat)
    out[7] = min(range(3, 9))
    out[8] = sum((1, 2.5), 4)
    out[9] = max(b.shape)
    out[10] = min(iter(ia))
"""
    compare(
        source,
        [
            np.zeros(11),
            np.array([3, -1.5, np.nan, 7], np.float32),
            np.arange(5, dtype=np.int32) - 2,
            np.arange(6.0).reshape(2, 3),
        ],
    )


@needs_oracle
def test_membership():
    source = """def kernel(out, f, b, i, x):
    out[0] = x in f
    out[1] = i in f
    out[2] = 4 in b
    out[3] = 9 not in b
    k = 4
    for step in (1, 3, -2, -5):
        for start in range(-3, 4):
            for value in range(-7, 8):
                out[k] = value in range(start, step * 3, step)
                k += 1
    out[k] = 2.5 in range(5)
    out[k + 1] = 2.0 in range(5)
    out[k + 2] = x in range(i)
"""
    compare(source, [np.zeros(430), np.array([1.5, 2, 3], np.float32), np.arange(6.0).reshape(2, 3), 2, 1.5])


@needs_oracle
def test_views_as_other_types():
    source = """def kernel(out, f, ia, b, y, i):
    v = f.view(np.int32)
    out[0] = v[1]
    v[0] = 0
    out[1] = f[0]
    w = ia.view(np.int64)
    out[2], out[3] = w[1], w.size
    w8 = ia.view(np.int8)
    out[4], out[5] = w8[4], w8.shape[0]
    b32 = b.view(np.int32)
    out[6], out[7], out[8] = b32[1, 3], b32.shape[0], b32.shape[1]
    out[9] = b[1:].view(np.int64)[0, 1]
    out[10] = np.float32(y).view(np.int32)
    out[11] = np.int64(i).view(np.float64)
    out[12] = b.T.view(np.uint64)[2, 1]
    out[13] = f[::2].view(np.uint32)[1]
"""
    compare(
        source,
        [
            np.zeros(14),
            np.arange(1, 7, dtype=np.float32),
            np.arange(8, dtype=np.int32) - 2,
            np.arange(6.0).reshape(2, 3),
            np.float32(1.5),
            7,
        ],
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("f.view(np.float64)", "its size must be a divisor"),
        ("f[::2].view(np.int8)", "the last axis must be contiguous"),
        ("f[1:].view(np.float64)", "would be misaligned"),
        ("f[:0].argmax()", "attempt to get argmax of an empty sequence"),
        ("(1, 2).index(f.size)", "x not in tuple"),
    ],
)
def test_what_cannot_be_is_a_value_error_of_the_kernel(text, message):
    kernel = numba_oracle.function_from(f"def kernel(f):\n    v = {text}\n")
    with pytest.raises(ValueError, match=message):
        cuda.jit(kernel)[1, 1](np.zeros(7, np.float32))


def test_methods_of_numbers_and_tuples():
    def kernel(out, t, i):
        out[0] = t.index(5)
        out[1] = i.bit_count()
        out[2] = (-i).bit_count()
        out[3] = i.item() + i.conjugate()
        out[4] = t == None  # noqa: E711
        out[5] = t != None  # noqa: E711

    assert list(evaluate(kernel, (1, 5, 3), 7, size=6)) == [1, 3, 3, 14, 0, 1]


def test_reductions_see_shared_and_local_arrays():
    @cuda.jit
    def kernel(out):
        shared = cuda.shared.array(4, np.float32)
        local = cuda.local.array((2, 2), np.int16)
        shared[cuda.threadIdx.x] = cuda.threadIdx.x
        local[:] = cuda.threadIdx.x
        cuda.syncthreads()
        out[cuda.threadIdx.x] = shared.sum() * 100 + local.sum() + (3 in shared)

    out = np.zeros(4)
    kernel[1, 4](out)
    assert list(out) == [601, 605, 609, 613]


@needs_oracle
def test_sums_go_in_the_order_of_memory_and_the_first_nan_is_the_extremum():
    source = """def kernel(out, c, f, n):
    out[0] = c.sum()
    out[1] = f.sum()
    out[2] = f.T.sum()
    out[3] = f[:, ::-1].sum()
    out[4] = f.mean()
    out[5] = n.argmin()
    out[6] = n.argmax()
    out[7] = n[:1].argmax()
    out[8] = np.nansum(n)
    out[9] = np.nanmean(n)
    out[10] = n.sum()
    out[11] = n.any()
    out[12] = np.nanprod(n)
    out[13] = f.argmax()
"""
    rough = np.array([[1e16, 1.0, 1.0], [-1e16, 1.0, 0.5]])
    arguments = [np.zeros(14), rough, np.asfortranarray(rough), np.array([1.0, np.nan, -5, np.nan, 7])]
    compare(source, arguments)
    out = arguments[0]
    assert out[0] != out[1] and (out[5], out[6]) == (1, 1)
