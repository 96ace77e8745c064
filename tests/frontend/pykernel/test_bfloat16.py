"""bfloat16 in kernels: a number of its own type that computes as Numba's CUDA target types it, each result rounded once; arrays
where ml_dtypes gives NumPy the type. Functions are in test_half_functions.py, most types in test_type_facts.py."""

import math

import half_reference as reference
import numpy as np
import pytest
from cudasim import cuda, errors, types
from cudasim.cuda import bf16
from cudasim.cuda.bf16 import bfloat16
from half_reference import BRAIN
from kernel_checks import evaluate, kernel_of_source, refusal, types_of

BITS = reference.interesting(BRAIN)
VALUES = reference.values_of(BRAIN, BITS)


def rounded(values):
    return reference.round_to(BRAIN, values)


@pytest.mark.parametrize(("expression", "expected"), [
    ("x + y", lambda x, y: rounded(x + y)), ("x - y", lambda x, y: rounded(x - y)), ("x * y", lambda x, y: rounded(x * y)),
    ("x / y", lambda x, y: rounded(x / y)), ("-x", lambda x, y: -x), ("+x", lambda x, y: x),
    ("abs(x)", lambda x, y: np.abs(x)), ("x + np.float32(0.1)", lambda x, y: (x.astype(np.float32) + np.float32(0.1)).astype(float)),
    ("x * 0.1", lambda x, y: x * 0.1), ("x + 1", lambda x, y: x + 1),
    ("max(x, y)", lambda x, y: np.where(y > x, y, x)), ("min(x, y)", lambda x, y: np.where(y < x, y, x)),
    ("math.sqrt(x)", lambda x, y: rounded(np.sqrt(x))), ("math.floor(x)", lambda x, y: np.floor(x)),
    ("math.fabs(x)", lambda x, y: np.abs(x)), ("np.float64(x)", lambda x, y: x)])  # fmt: skip
def test_operators(expression, expected):
    body = ("i = cuda.grid(1)\n    j = i % a.size\n    if i < out.size:\n        x = bf16.ushort_as_bfloat16(a[i // a.size])\n"
            f"        y = bf16.ushort_as_bfloat16(a[j])\n        out[i] = {expression}")  # fmt: skip
    kernel = kernel_of_source(body, "out, a", cuda=cuda, bf16=bf16, np=np, math=math)
    out = np.zeros(BITS.size**2)
    cuda.jit(kernel)[(out.size + 127) // 128, 128](out, BITS)
    x, y = np.repeat(VALUES, VALUES.size), np.tile(VALUES, VALUES.size)
    with np.errstate(all="ignore"):
        wanted = expected(x, y)
    np.testing.assert_array_equal(out, np.broadcast_to(wanted, out.shape))
    zeros = out == 0
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(wanted[zeros]))


def test_comparisons_and_truth():
    def kernel(out, a):
        for i in range(a.size):
            x = bf16.ushort_as_bfloat16(a[i])
            out[i] = (
                (x < 1)
                + 2 * (x == x)
                + 4 * (x >= bfloat16(0.5))
                + 8 * (not x)
                + 16 * (x != x)
                + 32 * math.isnan(x)
            )

    out = np.zeros(BITS.size, np.int64)
    cuda.jit(kernel)[1, 1](out, BITS)
    v, nan = VALUES, np.isnan(VALUES)
    assert out.tolist() == ((v < 1) + 2 * ~nan + 4 * (v >= 0.5) + 8 * (v == 0) + 16 * nan + 32 * nan).tolist()


@pytest.mark.parametrize(
    "dtype",
    [np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64],
)
def test_constructor_rounds_once(dtype):
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        every = [
            0,
            1,
            255,
            257,
            258,
            259,
            511,
            32767,
            (257 << 53) + 1,
            (257 << 53) - 1,
            (259 << 53) - 1,
            limits.max,
            limits.min,
        ]
        values = np.array([v for v in every if v <= limits.max], dtype)
        wanted = reference.from_integers(BRAIN, values, "rn")
    else:
        finite = VALUES[np.isfinite(VALUES)]
        with np.errstate(all="ignore"):
            values = np.concatenate(
                [finite, finite * (1 + 2.0**-8), finite * (1 + 2.0**-8) * (1 + 2.0**-40), [np.inf, np.nan]]
            )
            values = values.astype(dtype)
        wanted = rounded(values)

    def kernel(out, a):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = bfloat16(a[i])

    out = np.zeros(values.size)
    cuda.jit(kernel)[(values.size + 127) // 128, 128](out, values)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
)
def test_storing_to_integers_truncates(dtype):
    def kernel(out, a):
        for i in range(a.size):
            out[i] = bfloat16(a[i])

    values = np.array([0, 1.5, 2.9, 100.5])
    out = np.zeros(values.size, dtype)
    cuda.jit(kernel)[1, 1](out, values)
    assert out.tolist() == [0, 1, 2, 100]


@pytest.mark.parametrize(
    "name", ["ceil", "cos", "exp", "exp2", "floor", "log", "log10", "sin", "sqrt", "tanh", "trunc"]
)
def test_math_functions_that_keep_the_type(name):
    """numba.cuda.bf16 overloads them; the others give float32 (test_type_facts.py)."""
    kernel = kernel_of_source(f"r = math.{name}(bf16.bfloat16(a))", "a", math=math, bf16=bf16)
    assert types_of(kernel, "float64")["r"] == "__nv_bfloat16"
    kernel = kernel_of_source(f"out[0] = math.{name}(bf16.bfloat16(a))", "out, a", math=math, bf16=bf16)
    assert evaluate(kernel, 1.75) == rounded(getattr(np, name)(1.75))


def test_names_of_the_type():
    def kernel(out):
        out[0] = bf16.bfloat16(0.1)
        out[1] = cuda.bfloat16(0.1)
        out[2] = cuda.types.bfloat16(0.1)

    assert evaluate(kernel, size=3).tolist() == [0.10009765625] * 3
    assert (
        cuda.bfloat16 is bf16.bfloat16 is types.bfloat16
        and str(bfloat16) == "__nv_bfloat16"
        and bfloat16.bitwidth == 16
    )


def test_device_functions_with_and_without_a_signature():
    @cuda.jit("bfloat16(bfloat16, bfloat16)", device=True)
    def declared(a, b):
        return a * b + a

    @cuda.jit(device=True)
    def inferred(a, b):
        return declared(a, b), (b, a)

    def kernel(out):
        value, pair = inferred(bfloat16(1.5), bfloat16(2))
        out[0] = value
        out[1], out[2] = pair
        out[3] = declared(bfloat16(3), bfloat16(0.1))

    assert evaluate(kernel, size=4).tolist() == [4.5, 2, 1.5, 3.296875]


def test_sums_in_a_loop_stay_bfloat16():
    def kernel(out):
        total = bfloat16(0)
        for _ in range(300):
            total += bfloat16(1)
        out[0] = total

    assert evaluate(kernel) == 256


@pytest.mark.parametrize(("body", "error", "message"), [
    ("r = int(x)", errors.TypingError, "int(__nv_bfloat16)"),
    ("r = np.float16(x)", NotImplementedError, "Cannot cast __nv_bfloat16 to float16"),
    ("r = bf16.bfloat16(np.int8(3))", NotImplementedError, "Cannot cast int8 to __nv_bfloat16"),
    ("r = x + np.int8(3)", errors.TypingError, "add(__nv_bfloat16, int8)"),
    ("r = np.complex64(x)", NotImplementedError, "Cannot cast __nv_bfloat16 to complex64"),
    ("s = cuda.shared.array(3, bf16.bfloat16)", errors.TypingError, "unsupported type: __nv_bfloat16"),
    ("if x:\n        pass", NotImplementedError, "compare it with a number"),
    ("r = x << 1", errors.TypingError, "__nv_bfloat16"),
    ("r = np.sin(x)", errors.TypingError, "sin(__nv_bfloat16)")])  # fmt: skip
def test_what_numba_refuses(body, error, message):
    kernel = kernel_of_source(f"x = bf16.bfloat16(a)\n    {body}", "a", bf16=bf16, np=np, cuda=cuda)
    assert message in refusal(error, kernel, "float64")


def test_a_bfloat16_cannot_be_passed():
    with pytest.raises(NotImplementedError, match="pass its bits, as int16"):
        cuda.jit("void(float64[:], bfloat16)")(lambda a, b: None)[1, 1](np.zeros(1), 1.5)


class TestArrays:
    """Arrays of ml_dtypes.bfloat16."""

    @pytest.fixture(autouse=True)
    def dtype(self):
        self.dtype = pytest.importorskip("ml_dtypes").bfloat16

    def test_come_from_the_host_and_go_back(self):
        def kernel(a, b, x):
            i = cuda.grid(1)
            if i < a.size:
                a[i] = a[i] * b[i] + x

        a, b = np.arange(40).astype(self.dtype), np.full(40, 1.1, self.dtype)
        wanted = (a * b).astype(np.float32) + np.float32(0.5)
        for signature in (None, "void(bfloat16[:], bfloat16[:], float32)"):
            compiled = cuda.jit(signature)(kernel) if signature else cuda.jit(kernel)
            got = a.copy()
            compiled[1, 64](got, b, np.float32(0.5))
            on_device = cuda.to_device(a)
            compiled[1, 64](on_device, b, np.float32(0.5))
            assert got.dtype == on_device.dtype == np.dtype(self.dtype)
            np.testing.assert_array_equal(got.view(np.uint16), wanted.astype(self.dtype).view(np.uint16))
            np.testing.assert_array_equal(on_device.copy_to_host().view(np.uint16), got.view(np.uint16))

    def test_constants_and_constructor(self):
        table, kind = np.array([1.5, 2.5], self.dtype), self.dtype

        def kernel(out):
            out[0] = table[0] + table[1]
            out[1] = cuda.const.array_like(table)[1]
            out[2] = kind(0.3)

        assert evaluate(kernel, size=3).tolist() == [4, 2.5, 0.30078125]

    def test_are_checked(self):
        @cuda.jit
        def kernel(a):
            a[cuda.threadIdx.x] = 1

        with pytest.raises(IndexError, match="index 4 is out of bounds"):
            kernel[1, 8](np.zeros(4, self.dtype))

    def test_numbers_of_it_are_refused(self):
        with pytest.raises(NotImplementedError, match="pass its bits"):
            cuda.jit(lambda a, b: None)[1, 1](np.zeros(1), self.dtype(1.5))
