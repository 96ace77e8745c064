"""float16 in kernels: stored, converted with one rounding, computed as Numba's CUDA target types it. NumPy has the values.
Types are in test_type_facts.py."""

import math

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, refusal

ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
SOME = np.array(
    [0.0, -0.0, 1.0, -2.5, 65504.0, 6e-8, -6e-8, 6.1e-5, 0.1, 1000.5, np.inf, -np.inf, np.nan], np.float16
)
THIRD = np.float16(1 / 3)
TABLE = np.array([0.5, 2.25], np.float16)


def same(got, expected):
    np.testing.assert_array_equal(
        got.view(np.uint16) * ~np.isnan(got), expected.view(np.uint16) * ~np.isnan(expected)
    )
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))


def test_every_value_survives_the_way_through_wider_types():
    def kernel(out, a):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = np.float64(np.float32(a[i]))

    out = np.zeros_like(ALL)
    cuda.jit(kernel)[128, 512](out, ALL)
    same(out, ALL)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conversion_rounds_once(dtype):
    rng = np.random.default_rng(3)
    values = rng.uniform(-1, 1, 4000) * 2.0 ** rng.integers(-26, 17, 4000)
    midpoints = (ALL[:31743].astype(float) + ALL[1:31744].astype(float)) / 2
    close = np.concatenate(
        [midpoints, np.nextafter(midpoints, np.inf), np.nextafter(midpoints, 0), [65520, 65519.999]]
    )
    values = np.concatenate([values, close[:: 7 if dtype == np.float64 else 11]]).astype(dtype)

    def kernel(out, a):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i]

    out = np.zeros(values.size, np.float16)
    cuda.jit(kernel)[(values.size + 127) // 128, 128](out, values)
    with np.errstate(over="ignore"):
        same(out, values.astype(np.float16))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64, np.bool_])
def test_conversion_of_integers(dtype):
    def kernel(out, back, a):
        for i in range(a.size):
            out[i] = a[i]
            back[i] = out[i]

    a = np.array([0, 1, 3, 100, 2049, 2051, 65519, 65520, 1 << 40]).clip(
        0, np.iinfo(np.int8).max if dtype == np.int8 else None
    )
    a = a.astype(dtype)
    out, back = np.zeros(a.size, np.float16), np.zeros(a.size, np.int64)
    cuda.jit(kernel)[1, 1](out, back, a)
    with np.errstate(over="ignore"):
        same(out, a.astype(np.float16))
    finite = np.isfinite(out)
    np.testing.assert_array_equal(back[finite], out[finite].astype(np.int64))


def test_arithmetic_is_numpys():
    def kernel(out, a):
        for i in range(a.size):
            for j in range(a.size):
                x = a[i]
                y = a[j]
                out[0, i, j] = x + y
                out[1, i, j] = x - y
                out[2, i, j] = x * y
                out[3, i, j] = -x
                out[4, i, j] = abs(y)

    out = np.zeros((5, SOME.size, SOME.size), np.float16)
    cuda.jit(kernel)[1, 1](out, SOME)
    x, y = SOME[:, None], SOME[None]
    with np.errstate(all="ignore"):
        expected = np.array(
            [x + y, x - y, x * y, -x + 0 * np.abs(np.nan_to_num(y * 0)), np.abs(y) + 0 * np.abs(x * 0)]
        )
        expected[3], expected[4] = (
            np.broadcast_to(-x, x.shape[:1] * 2),
            np.broadcast_to(np.abs(y), x.shape[:1] * 2),
        )
    same(out, expected)


def test_quotients_comparisons_and_mixed_types():
    def kernel(out, flags, a):
        for i in range(a.size):
            out[0, i] = a[i] / np.float16(3)
            out[1, i] = a[i] + THIRD
            out[2, i] = TABLE[1] * a[i]
            out[3, i] = a[i] * 2.0
            flags[i] = (a[i] < 1) + 2 * (a[i] == a[i]) + 4 * (not a[i]) + 8 * (a[i] >= TABLE[0])

    out, flags = np.zeros((4, SOME.size), np.float16), np.zeros(SOME.size, np.int32)
    cuda.jit(kernel)[1, 1](out, flags, SOME)
    with np.errstate(all="ignore"):
        same(
            out, np.array([SOME / np.float16(3), SOME + THIRD, np.float16(2.25) * SOME, SOME * np.float16(2)])
        )
    expected = (SOME < 1) + 2 * (SOME == SOME) + 4 * (SOME == 0) + 8 * (SOME >= 0.5)
    assert flags.tolist() == expected.tolist()


def test_functions():
    def kernel(out, x, y):
        out[0] = math.sqrt(x)
        out[1] = math.sin(x)
        out[2] = math.atan(x)
        out[3] = math.pow(x, y)
        out[4] = max(x, y)
        out[5] = round(y)
        out[6] = x // y
        out[7] = x**2
        out[8] = math.floor(-x) + math.isnan(x)
        out[9] = min(x, np.float32(0.5))

    x, y = np.float16(1.7), np.float16(2.6)
    wide = [np.float32(x), np.float32(y)]
    expected = [np.float16(np.sqrt(wide[0])), np.float16(np.sin(wide[0])), np.arctan(wide[0]), wide[0] ** wide[1], y, 3, 0,
                wide[0] * wide[0], -2, 0.5]  # fmt: skip
    np.testing.assert_allclose(evaluate(kernel, x, y, size=10), np.array(expected, float), rtol=2e-7)


def test_shared_and_local_arrays():
    def kernel(out, a):
        shared = cuda.shared.array(4, np.float16)
        local = cuda.local.array(2, "float16")
        shared[0] = a
        local[1] = shared[0] + shared[0]
        out[0] = local[1]
        out[1] = shared.itemsize

    assert evaluate(kernel, 0.1, size=2).tolist() == [float(np.float16(0.1) * 2), 2]


def test_a_declared_argument_is_rounded():
    @cuda.jit("void(float64[:], float16)")
    def kernel(out, x):
        out[0] = x

    out = np.zeros(1)
    kernel[1, 1](out, 0.1)
    assert out[0] == np.float16(0.1)
    kernel[1, 1](out, 1e6)
    assert out[0] == np.inf


def test_fields_of_records_and_device_functions():
    @cuda.jit(device=True)
    def cube(x):
        return x * x * x

    def kernel(records, out):
        for i in range(records.size):
            records[i].a = cube(records[i].a)
            out[i] = records[i].b[1] + records[i].a

    records = np.zeros(3, np.dtype([("a", np.float16), ("n", np.int16), ("b", np.float16, (2,))]))
    records["a"], records["b"] = [0.1, -1.5, 50], [[0, 1], [2, 0.3], [4, 5]]
    a = records["a"].copy()
    out = np.zeros(3, np.float16)
    cuda.jit(kernel)[1, 1](records, out)
    with np.errstate(over="ignore"):
        same(records["a"].copy(), a * a * a)
        same(out, records["b"][:, 1] + a * a * a)


def test_atomic_functions_do_not_take_it():
    """Numba's CUDA target has none for float16 either."""

    def kernel(a):
        cuda.atomic.add(a, 0, a[1])

    assert "float16" in refusal(errors.TypingError, kernel, "array(float16, 1d, C)")
