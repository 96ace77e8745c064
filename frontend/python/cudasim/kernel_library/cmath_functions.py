"""The cmath module for kernels: values as C99's Annex G has them, signed zeros, infinities and NaNs included. What CPython
answers with an exception (cmath.log(0), cmath.exp(1000)) is infinite or NaN, as on a GPU.

The formulas are those of W. Kahan, "Branch Cuts for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit"
(1987). Which types each takes and gives are facts about Numba's CUDA target.
"""

import math

import numpy as np

from cudasim.kernel_library import library_function

_LOG_2 = math.log(2.0)
_LOG_10 = math.log(10.0)
_LARGE = 1e18  # the square of 1/x is lost against 1; in float32 its square is finite
_FINITE, _TEST = (
    (("complex64", "complex64"), ("complex128", "complex128")),
    (("bool", "complex64"), ("bool", "complex128")),
)


@library_function("cmath.isfinite", *_TEST)
def isfinite(z):
    return math.isfinite(z.real) and math.isfinite(z.imag)


@library_function("cmath.isinf", *_TEST)
def isinf(z):
    return math.isinf(z.real) or math.isinf(z.imag)


@library_function("cmath.isnan", *_TEST)
def isnan(z):
    return math.isnan(z.real) or math.isnan(z.imag)


@library_function("cmath.phase", ("float32", "complex64"), ("float64", "complex128"), exact=True)
def phase(z):
    return math.atan2(z.imag, z.real)


@library_function(
    "cmath.polar", ("UniTuple(float32 x 2)", "complex64"), ("UniTuple(float64 x 2)", "complex128"), exact=True
)
def polar(z):
    return math.hypot(z.real, z.imag), math.atan2(z.imag, z.real)


@library_function("cmath.rect", ("complex64", "float32", "float32"), ("complex128", "float32", "float64"),
                  ("complex128", "float64", "float32"), ("complex128", "float64", "float64"), exact=True)  # fmt: skip
def rect(r, phi):
    if phi == 0.0:
        return complex(r, r * phi)
    if not math.isfinite(phi):
        if r == 0.0:
            return complex(abs(r), abs(r))
        return complex(abs(r) if math.isinf(r) else phi - phi, phi - phi)
    return complex(r * math.cos(phi), r * math.sin(phi))


@library_function("cmath.exp", *_FINITE)
def exp(z):
    x, y = z.real, z.imag
    size = math.exp(x)
    if y == 0.0:
        return complex(size, y)
    if not math.isfinite(y):
        if x == -math.inf:
            return complex(size, math.copysign(size, y))
        if x == math.inf:
            return complex(x, y - y)
        return complex(y - y, y - y)
    c, s = math.cos(y), math.sin(y)
    if math.isinf(size) and math.isfinite(x):  # the product may be finite all the same
        root = math.exp(0.5 * x)
        return complex(root * c * root, root * s * root)
    return complex(size * c, size * s)


@library_function("cmath.log", ("complex64", "complex64", "none"), ("complex128", "complex128", "none"),
                  ("complex64", "complex64", "complex64"), ("complex128", "complex128", "complex128"))  # fmt: skip
def log(z, base=None):
    if base is not None:
        return log(z) / log(base)
    x, y = abs(z.real), abs(z.imag)
    size = math.hypot(x, y)
    large, small = max(x, y), min(x, y)
    angle = math.atan2(z.imag, z.real)
    if math.isinf(size) and math.isfinite(large):
        return complex(math.log(math.hypot(0.5 * x, 0.5 * y)) + _LOG_2, angle)
    if size > 0.7 and size < 1.75:  # the logarithm of 1 + d
        return complex(0.5 * math.log1p((large - 1.0) * (large + 1.0) + small * small), angle)
    if large < 1e-30 and large > 0.0:  # near what is subnormal
        return complex(
            math.log(math.hypot(1e150 * np.float64(x), 1e150 * np.float64(y))) - 150.0 * _LOG_10, angle
        )
    return complex(math.log(size), angle)


@library_function("cmath.natural_log", *_FINITE)
def natural_log(z):
    return log(z)


@library_function("cmath.log10", ("complex128", "complex64"), ("complex128", "complex128"), exact=True)
def log10(z):
    w = log(z)
    return complex(w.real / _LOG_10, w.imag / _LOG_10)


@library_function("cmath.log2", *_FINITE, exact=True)
def log2(z):
    w = log(z)
    return complex(w.real / _LOG_2, w.imag / _LOG_2)


@library_function("cmath.sqrt", *_FINITE)
def sqrt(z):
    x, y = z.real, z.imag
    if math.isinf(y):
        return complex(abs(y), y)
    if math.isnan(x):
        return complex(x, x)
    if math.isinf(x):
        nothing = abs(y - y)
        return complex(x, math.copysign(nothing, y)) if x > 0.0 else complex(nothing, math.copysign(x, y))
    if x == 0.0 and y == 0.0:
        return complex(abs(x), y)
    a, b = np.float64(abs(x)), np.float64(abs(y))
    scale = 1.0
    if a > 1e300 or b > 1e300:
        a, b, scale = 0.25 * a, 0.25 * b, 2.0
    elif a < 1e-290 and b < 1e-290:
        a, b, scale = a * 2.0**120, b * 2.0**120, 2.0**-60
    large = math.sqrt(0.5 * (a + math.hypot(a, b)))
    small = 0.5 * b / large
    if x >= 0.0:
        return complex(scale * large, math.copysign(scale * small, y))
    return complex(scale * small, math.copysign(scale * large, y))


def _sinh(z):
    x, y = z.real, z.imag
    if y == 0.0:
        return complex(math.sinh(x), y)
    if x == 0.0 and math.isfinite(y):
        return complex(math.copysign(x, x * math.cos(y)), math.sin(y))
    if not math.isfinite(y):
        if x == 0.0 or math.isinf(x):
            return complex(x, y - y)
        return complex(y - y, y - y)
    c, s = math.cos(y), math.sin(y)
    if math.isinf(math.sinh(x)) and math.isfinite(x):
        root = math.exp(0.5 * abs(x))
        return complex(math.copysign(0.5, x) * root * c * root, 0.5 * root * s * root)
    return complex(math.sinh(x) * c, math.cosh(x) * s)


def _cosh(z):
    x, y = z.real, z.imag
    if y == 0.0:
        return complex(math.cosh(x), math.copysign(0.0, x) * y)
    if x == 0.0 and math.isfinite(y):
        return complex(math.cos(y), x * math.sin(y))
    if not math.isfinite(y):
        if x == 0.0:
            return complex(y - y, abs(x))
        if math.isinf(x):
            return complex(abs(x), y - y)
        return complex(y - y, y - y)
    c, s = math.cos(y), math.sin(y)
    if math.isinf(math.sinh(x)) and math.isfinite(x):
        root = math.exp(0.5 * abs(x))
        return complex(0.5 * root * c * root, math.copysign(0.5, x) * root * s * root)
    return complex(math.cosh(x) * c, math.sinh(x) * s)


def _tanh(z):
    x, y = z.real, z.imag
    if y == 0.0:
        return complex(math.tanh(x), y)
    if not math.isfinite(y):
        if math.isinf(x):
            return complex(math.copysign(1.0, x), math.copysign(0.0, y))
        return complex(x if x == 0.0 else y - y, y - y)
    if math.isnan(x):
        return complex(x, x)
    if abs(x) > 22.0:  # 4 * exp(-2 * 22) is lost against 1
        return complex(math.copysign(1.0, x), 4.0 * math.sin(y) * math.cos(y) * math.exp(-2.0 * abs(x)))
    t, s = math.tan(y), math.sinh(x)
    beta = 1.0 + t * t
    divisor = 1.0 + beta * s * s
    return complex(beta * math.sqrt(1.0 + s * s) * s / divisor, t / divisor)


sinh = library_function("cmath.sinh", *_FINITE, exact=True)(_sinh)
cosh = library_function("cmath.cosh", *_FINITE, exact=True)(_cosh)
tanh = library_function("cmath.tanh", ("complex128", "complex64"), ("complex128", "complex128"), exact=True)(
    _tanh
)
_typed_tanh = library_function("tanh of the argument's type", *_FINITE, exact=True)(_tanh)


@library_function("cmath.sin", *_FINITE)
def sin(z):
    w = sinh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@library_function("cmath.cos", *_FINITE)
def cos(z):
    return cosh(complex(-z.imag, z.real))


@library_function("cmath.tan", *_FINITE)
def tan(z):
    w = _typed_tanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@library_function("cmath.asin", *_FINITE)
def asin(z):
    x, y = np.float64(z.real), np.float64(z.imag)
    if not (abs(x) < _LARGE and abs(y) < _LARGE):
        w = _large_asinh(complex(-y, x))
        return complex(w.imag, -w.real)
    below, above = sqrt(complex(1.0 - x, -y)), sqrt(complex(1.0 + x, y))
    real = math.atan2(x, (below * above).real)
    return complex(real, math.asinh(below.real * above.imag - below.imag * above.real))


@library_function("cmath.acos", *_FINITE)
def acos(z):
    x, y = np.float64(z.real), np.float64(z.imag)
    if not (abs(x) < _LARGE and abs(y) < _LARGE):
        if math.isnan(x) and not math.isinf(y):
            return complex(x, x)
        if math.isnan(y) and not math.isinf(x):
            return complex(0.5 * math.pi if x == 0.0 else y, y)
        return complex(math.atan2(abs(y), x), math.copysign(_log_of_twice(x, y), -y))
    below, above = sqrt(complex(1.0 - x, -y)), sqrt(complex(1.0 + x, y))
    return complex(2.0 * math.atan2(below.real, above.real),
                   math.asinh(above.real * below.imag - above.imag * below.real))  # fmt: skip


@library_function("cmath.asinh", *_FINITE)
def asinh(z):
    x, y = np.float64(z.real), np.float64(z.imag)
    if not (abs(x) < _LARGE and abs(y) < _LARGE):
        return _large_asinh(complex(x, y))
    w = asin(complex(-y, x))
    return complex(w.imag, -w.real)


@library_function("cmath.acosh", ("complex128", "complex64"), ("complex128", "complex128"), exact=True)
def acosh(z):
    x, y = np.float64(z.real), np.float64(z.imag)
    if not (abs(x) < _LARGE and abs(y) < _LARGE):
        if math.isnan(x) and not math.isinf(y):
            return complex(x, x)
        if math.isnan(y) and not math.isinf(x):
            return complex(y, 0.5 * math.pi if x == 0.0 else y)
        return complex(_log_of_twice(x, y), math.atan2(y, x))
    below, above = sqrt(complex(x - 1.0, y)), sqrt(complex(x + 1.0, y))
    return complex(math.asinh(below.real * above.real + below.imag * above.imag),
                   2.0 * math.atan2(below.imag, above.real))  # fmt: skip


@library_function("log of 2|z|", ("float64", "float64", "float64"))
def _log_of_twice(x, y):
    if math.isinf(x) or math.isinf(y):
        return math.inf
    return math.log(math.hypot(0.25 * x, 0.25 * y)) + 3.0 * _LOG_2


@library_function("asinh of what is large", ("complex128", "complex128"))
def _large_asinh(z):
    x, y = z.real, z.imag
    if math.isnan(x) and not math.isinf(y):
        return complex(x, y if y == 0.0 else x)
    if math.isnan(y) and not math.isinf(x):
        return complex(y, y)
    return complex(math.copysign(_log_of_twice(x, y), x), math.atan2(y, abs(x)))


@library_function("cmath.atanh", *_FINITE)
def atanh(z):
    x, y = abs(np.float64(z.real)), np.float64(z.imag)
    if math.isinf(x) or math.isinf(y):
        real, imag = 0.0, math.copysign(0.5 * math.pi, y)
        if math.isnan(y):
            imag = y
    elif math.isnan(x) or math.isnan(y):
        real, imag = (x if x == 0.0 else x + y), x + y
    elif x > _LARGE or abs(y) > _LARGE:
        size = math.hypot(0.5 * x, 0.5 * y)
        real, imag = 0.25 * x / size / size, math.copysign(0.5 * math.pi, y)
    elif x == 1.0 and abs(y) < 1e-150:
        imag = math.copysign(0.25 * math.pi, y) if y != 0.0 else y
        real = math.inf if y == 0.0 else 0.5 * (_LOG_2 - math.log(abs(y)))
    else:
        gap = 1.0 - x
        real = 0.25 * math.log1p(4.0 * x / (gap * gap + y * y))
        imag = 0.5 * math.atan2(2.0 * y, gap * (1.0 + x) - y * y)
    return complex(math.copysign(real, z.real), imag)


@library_function("cmath.atan", *_FINITE)
def atan(z):
    w = atanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)
