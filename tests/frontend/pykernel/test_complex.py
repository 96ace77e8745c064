"""Complex numbers in kernels: arithmetic as Numba's CPU compiler has it, the cmath module as CPython's, arrays, constants,
zero divisors, refusals. Types are in test_type_facts.py."""

import cmath
import linecache
import math
import warnings

import numba_oracle
import numpy as np
import pytest
from cudasim import cuda, errors, options
from kernel_checks import evaluate, refusal

ORACLE = numba_oracle.start()
needs_oracle = pytest.mark.skipif(
    ORACLE is None, reason="CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba"
)
PARTS = [0.0, -0.0, 1.0, -2.5, 0.375, 1e30, -1e-30, math.inf, -math.inf, math.nan]
VALUES = [complex(x, y) for x in PARTS for y in PARTS]
ORDINARY = [complex(x, y) for x in (0.5, -1.25, 3.0, 0.0) for y in (-0.75, 2.0, 1e-3, 0.0)]
CONSTANT, NARROW = 1.5 - 2j, np.complex64(0.5 + 0.25j)
TABLE = np.array([1 + 2j, 3 - 4j, -5j], np.complex64)


def same(got, expected):
    """The same numbers, NaNs and zeros' signs; infinities by NumPy's equality."""
    got, expected = np.asarray(got), np.asarray(expected)
    for part in ("real", "imag"):
        a, b = getattr(got, part), getattr(expected, part)
        np.testing.assert_array_equal(a, b)
        zero = (b == 0) & ~np.isnan(got.real) & ~np.isnan(got.imag)
        np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))


@needs_oracle
@pytest.mark.parametrize(
    "operation", ["x + y", "x - y", "x * y", "-x + y", "x.conjugate() * y", "x * 2.5", "3 * x - 1j"]
)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_arithmetic_gives_numbas_bits(operation, dtype):
    source = ("def kernel(out, a, b):\n    for i in range(a.size):\n        for j in range(b.size):\n"
              f"            x = a[i]\n            y = b[j]\n            out[i, j] = {operation}\n")  # fmt: skip
    values = np.array(VALUES, dtype)
    arguments = [np.zeros((values.size, values.size), dtype), values, values]
    answer = ORACLE.run(source, arguments)
    cuda.jit(numba_oracle.function_from(source))[1, 1](*arguments)
    same(arguments[0], answer.arguments[0])


@needs_oracle
@pytest.mark.parametrize(
    "operation", ["x / y", "1 / y", "x / 4", "x ** 2", "y ** x", "y ** 3", "abs(x) + abs(y)"]
)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_quotients_and_powers_are_numbas(operation, dtype):
    source = ("def kernel(out, a, b):\n    for i in range(a.size):\n        for j in range(b.size):\n"
              f"            x = a[i]\n            y = b[j]\n            out[i, j] = {operation}\n")  # fmt: skip
    a, b = np.array(ORDINARY, dtype), np.array([z for z in ORDINARY if z], dtype)
    arguments = [np.zeros((a.size, b.size), dtype), a, b]
    answer = ORACLE.run(source, arguments)
    cuda.jit(numba_oracle.function_from(source))[1, 1](*arguments)
    np.testing.assert_allclose(
        arguments[0], answer.arguments[0], rtol=2e-5 if dtype == np.complex64 else 1e-13, atol=1e-30
    )


def test_quotients_do_not_overflow_on_the_way():
    def kernel(out, a, b):
        out[0] = a / b

    assert evaluate(kernel, 1e300 + 1e300j, 2e300 + 2e300j, dtype=complex) == 0.5
    assert evaluate(kernel, 1e-300 + 0j, 1e-300j, dtype=complex) == -1j


def test_a_zero_divisor_is_counted_as_one_of_floats_is():
    def kernel(out, a, b):
        out[0] = a / b

    with pytest.warns(errors.CudasimWarning, match="division by zero"):
        assert np.isnan(evaluate(kernel, 1 + 1j, 0j, dtype=complex))
    with pytest.raises(ZeroDivisionError):
        cuda.jit(debug=True, opt=False)(kernel)[1, 1](np.zeros(1, complex), 1 + 1j, 0j)


def cmath_kernel(name):
    source = f"def kernel(out, a):\n    for i in range(a.size):\n        out[i] = cmath.{name}(a[i])\n"
    file = f"<cmath.{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"cmath": cmath}
    exec(compile(source, file, "exec"), namespace)
    return namespace["kernel"]


CORNERS = [0.0, 1.0, 0.5, 2.0, 1e-170, 3e-200, 1 + 1e-12, 22.5, 710.2, 1e19, 1e300, math.inf, math.nan]
#: What Annex G leaves open: the sign of a zero or of an infinity.
OPEN = {"acos": [(math.inf, math.nan)], "asin": [(math.inf, math.nan)], "atan": [(math.inf, math.nan)],
        "exp": [(-math.inf, math.inf)], "tan": [(math.inf, math.inf), (math.nan, 0.0)],
        "tanh": [(math.inf, math.inf), (0.0, math.nan)], "cos": [(0.0, math.nan)], "cosh": [(math.nan, 0.0)],
        "sin": [(math.nan, math.inf), (math.nan, 0.0)], "sinh": [(math.inf, math.nan), (0.0, math.nan)],
        "acosh": [(0.0, math.nan)]}  # fmt: skip


def is_open(name, z):
    return any(all(abs(part) == abs(wanted) or part != part and wanted != wanted
                   for part, wanted in zip((z.real, z.imag), pair)) for pair in OPEN.get(name, ()))  # fmt: skip


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10",
                                  "sin", "sinh", "sqrt", "tan", "tanh"])  # fmt: skip
def test_cmath_has_cpythons_values(name):
    signed = [sign * part for part in CORNERS for sign in (1, -1)]
    values = np.array([complex(x, y) for x in signed for y in signed])
    out = np.zeros_like(values)
    cuda.jit(cmath_kernel(name))[1, 1](out, values)
    for z, got in zip(values.tolist(), out.tolist()):
        try:
            expected = getattr(cmath, name)(z)
        except (ValueError, OverflowError):
            continue  # infinite or NaN in kernels
        for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
            if is_open(name, z):
                a, b = abs(a), abs(b)
            if math.isnan(b) or math.isinf(b) or b == 0:
                close = (math.isnan(a) and (math.isnan(b) or is_open(name, z))) or (
                    a == b and math.copysign(1, a) == math.copysign(1, b)) or is_open(name, z)  # fmt: skip
            else:
                close = abs(a - b) <= 5e-15 * abs(b)
            assert close, (name, z, got, expected)


@pytest.mark.parametrize(
    "name", ["acos", "asin", "atan", "cos", "exp", "log", "sin", "sqrt", "tan", "sinh", "atanh"]
)
def test_cmath_of_complex64_is_close(name):
    values = np.array([complex(x, y) for x in (0.3, -2.5, 4.0, 0.0) for y in (0.7, -1.5, 3.25)], np.complex64)
    out = np.zeros_like(values)
    cuda.jit(cmath_kernel(name))[1, 1](out, values)
    np.testing.assert_allclose(out, [getattr(cmath, name)(z) for z in values.tolist()], rtol=2e-6)


def test_polar_form_and_back():
    def kernel(out, z):
        r, phi = cmath.polar(z)
        out[0] = cmath.rect(r, phi)
        out[1] = cmath.phase(z)
        out[2] = cmath.log(z, 10.0)
        out[3] = cmath.isnan(z) + cmath.isinf(z * math.inf) + cmath.isfinite(z)

    out = evaluate(kernel, 3 - 4j, dtype=complex, size=4)
    np.testing.assert_allclose(out, [3 - 4j, cmath.phase(3 - 4j), cmath.log(3 - 4j, 10), 2], rtol=1e-15)


def test_cmath_where_cpython_raises():
    def kernel(out):
        out[0] = cmath.log(0j)
        out[1] = cmath.exp(1000 + 1j)
        out[2] = cmath.atanh(1 + 0j)

    with options.override(mode="native"):
        out = evaluate(kernel, dtype=complex, size=3)
    assert out[0].real == -math.inf and np.isinf(out[1]) and out[2].real == math.inf


def test_constants_of_every_kind():
    def kernel(out, b):
        out[0] = 1j * b
        out[1] = 2 - 3.5j
        out[2] = CONSTANT
        out[3] = NARROW * NARROW
        out[4] = TABLE[1] + TABLE[b]
        out[5] = complex(b, 2.5)
        out[6] = np.complex64(b) + np.complex128(1j)
        out[7] = cmath.infj.imag

    expected = [2j, 2 - 3.5j, CONSTANT, complex(NARROW) ** 2, 3 - 4j - 5j, 2 + 2.5j, 2 + 1j, math.inf]
    assert evaluate(kernel, 2, dtype=complex, size=8).tolist() == expected


@pytest.mark.parametrize("argument", [1.5 - 2j, np.complex64(1.5 - 2j), np.complex128(1.5 - 2j)])
def test_numbers_as_arguments(argument):
    def kernel(out, z, x):
        out[0] = z + x
        out[1] = z.imag

    assert evaluate(kernel, argument, 1, dtype=complex, size=2).tolist() == [2.5 - 2j, -2]


def test_declared_signatures_convert_arguments():
    @cuda.jit("void(complex128[:], complex64, complex128)")
    def kernel(out, z, w):
        out[0] = z
        out[1] = w

    out = np.zeros(2, complex)
    kernel[1, 1](out, 0.1, 2)
    assert out.tolist() == [complex(np.float32(0.1)), 2]


def test_shared_local_and_viewed_memory():
    def kernel(out, a):
        shared = cuda.shared.array(4, np.complex64)
        local = cuda.local.array((2, 2), np.complex128)
        for i in range(4):
            shared[i] = a[i] * 1j
        local[1, 0] = shared[3]
        out[0] = local[1, 0]
        out[1] = a[1:3][-1]
        a.real[0] = 7.0
        a.imag[1] = -7.0
        out[2] = a[0] + a[1]
        a[2:] = 5
        out[3] = a[3]
        out[4] = a.itemsize

    a = np.arange(4) + 1j * np.ones(4)
    out = evaluate(kernel, a, dtype=complex, size=5)
    assert out.tolist() == [3j - 1, 2 + 1j, 8 - 6j, 5, 16]


def test_conditions_comparisons_and_membership():
    def kernel(out, z, w):
        out[0] = 1 if z else 0
        out[1] = 1 if w else 0
        out[2] = z == w
        out[3] = z != w
        out[4] = z in (1j, 0j)
        out[5] = not z
        out[6] = z == 0
        out[7] = isinstance(z, complex)

    assert evaluate(kernel, 0j, 1e-300j, size=8).tolist() == [0, 1, 0, 1, 1, 1, 1, 1]


@cuda.jit(device=True)
def swapped(z):
    return complex(z.imag, z.real), -z


def test_device_functions_tuples_and_variables():
    def kernel(out, z):
        a, b = swapped(z)
        pair = (a, b, 1.0)
        total = 0
        for i in range(3):
            total += z * i
        w = 1.0
        if total:
            w = total
        w *= 2
        w -= 1j
        out[0] = pair[0]
        out[1] = pair[1]
        out[2] = w
        out[3] = sum((z, z)) + pow(z, 2)

    z = 1 + 2j
    assert evaluate(kernel, z, dtype=complex, size=4).tolist() == [2 + 1j, -z, 6 * z - 1j, 2 * z + z * z]


def test_reductions():
    def kernel(out, a, b):
        out[0] = a.sum()
        out[1] = a.prod()
        out[2] = a.mean()
        out[3] = np.nansum(b)
        out[4] = np.nanmean(b)
        out[5] = a.var()
        out[6] = a.std()
        out[7] = np.count_nonzero(a) + a.any() + a.all()
        out[8] = np.nanvar(b)
        out[9] = sum(a)

    a = np.array([1 + 1j, 2 - 1j, 0.5j, 3])
    b = np.array([1 + 1j, math.nan, complex(2, math.nan), 3])
    expected = [
        a.sum(),
        a.prod(),
        a.mean(),
        np.nansum(b),
        np.nanmean(b),
        a.var(),
        a.std(),
        6,
        np.nanvar(b),
        a.sum(),
    ]
    np.testing.assert_allclose(evaluate(kernel, a, b, dtype=complex, size=10), expected, rtol=1e-14)


def test_numpys_functions():
    def kernel(out, z, x):
        out[0] = np.sin(z) + np.arctan(z)
        out[1] = np.conj(z) * np.log2(z)
        out[2] = np.divide(z, 1j)
        out[3] = np.real(z) + 1j * np.imag(z)
        out[4] = np.angle(z) + np.angle(z, True)
        out[5] = np.sinc(z) + np.sinc(x) + np.sinc(0)
        out[6] = np.minimum(z, 2 + 1j) + np.fmax(z, 1j)
        out[7] = np.less(z, 2j) + 2 * np.isnan(z * math.nan) + 4 * np.logical_and(z, 0j)

    z, x = 1.5 - 0.5j, 0.25
    expected = [np.sin(z) + np.arctan(z), np.conj(z) * np.log2(z), z / 1j, z, np.angle(z) + np.angle(z, True),
                np.sinc(z) + np.sinc(x) + 1, 3 - 1j, 2]  # fmt: skip
    np.testing.assert_allclose(evaluate(kernel, z, x, dtype=complex, size=8), expected, rtol=1e-14)


def test_division_by_zero_of_numpys_divide():
    def kernel(out, z):
        out[0] = np.divide(z, 0j)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = evaluate(kernel, 1 - 1j, dtype=complex)
    assert (out.real, out.imag) == (math.inf, -math.inf)


def test_optional_values_and_joins():
    @cuda.jit(device=True)
    def root(x):
        if x >= 0:
            return math.sqrt(x) + 0j

    def kernel(out, x):
        z = root(x)
        if z is not None:
            out[0] = z * 2

    assert evaluate(kernel, 9.0, dtype=complex) == 6
    assert evaluate(kernel, -9.0, dtype=complex) == 0


@pytest.mark.parametrize(("body", "error", "text"), [
    ("print(z)", NotImplementedError, "printing unimplemented for values of type complex128"),
    ("out[0] = z < z", errors.TypingError, "<"),
    ("out[0] = z // 2", errors.TypingError, "//"),
    ("out[0] = int(z)", errors.TypingError, "int"),
    ("out[0] = float(z)", errors.TypingError, "float"),
    ("out[0] = np.float32(z)", NotImplementedError, "Cannot cast complex128 to float32"),
    ("cuda.atomic.add(out, 0, z)", errors.TypingError, "atomic"),
    ("out[0] = cmath.phase(out[0].real)", errors.TypingError, r"No implementation of cmath.phase"),
    ("out[0] = math.sqrt(z)", errors.TypingError, "math.sqrt"),
    ("out[0] = cmath.isclose(z, z)", errors.TypingError, "isclose"),
    ("for i in range(z):\n        pass", errors.TypingError, "range"),
])  # fmt: skip
def test_what_numba_refuses(body, error, text):
    source = f"def kernel(out, z):\n    {body}\n"
    file = f"<complex {body}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"cuda": cuda, "math": math, "cmath": cmath, "np": np}
    exec(compile(source, file, "exec"), namespace)
    assert text in refusal(error, namespace["kernel"], "array(complex128, 1d, C)", "complex128")


def test_a_complex_number_does_not_go_into_a_real_array():
    def kernel(out, z):
        out[0] = z

    assert "complex128" in refusal(errors.TypingError, kernel, "array(float64, 1d, C)", "complex128")


def test_mandelbrot_and_julia_sets_as_with_real_numbers():
    def mandelbrot(out, limit):
        for row in range(out.shape[0]):
            for column in range(out.shape[1]):
                c = complex(-2 + 3 * column / out.shape[1], -1.5 + 3 * row / out.shape[0])
                z = 0j
                n = 0
                while n < limit and z.real * z.real + z.imag * z.imag < 4:
                    z = z * z + c
                    n += 1
                out[row, column] = n

    def by_real_numbers(out, limit):
        for row in range(out.shape[0]):
            for column in range(out.shape[1]):
                x, y = -2 + 3 * column / out.shape[1], -1.5 + 3 * row / out.shape[0]
                a, b = 0.0, 0.0
                n = 0
                while n < limit and a * a + b * b < 4:
                    a, b = a * a - b * b + x, a * b + b * a + y
                    n += 1
                out[row, column] = n

    def julia(out, c):
        for row in range(out.shape[0]):
            z = complex(1.5 - row / 4, 0.1)
            for n in range(30):
                if abs(z) > 2:
                    break
                z = z**2 + c
            out[row, 0] = n

    complexes, reals, steps = (np.zeros((12, 12), np.int32) for _ in range(3))
    cuda.jit(mandelbrot)[1, 1](complexes, 50)
    cuda.jit(by_real_numbers)[1, 1](reals, 50)
    np.testing.assert_array_equal(complexes, reals)
    assert len(np.unique(complexes)) > 5
    cuda.jit(julia)[1, 1](steps, -0.8 + 0.156j)
    assert len(np.unique(steps[:, 0])) > 3
