"""Functions of NumPy's for kernels, as far as Numba's CUDA target has them and they are a few lines of Python.
Which types each takes and gives are facts about it: `average` knows no weights, `trace` no integers."""

import math

import numpy as np

from cudasim.kernel_library import library_function
from cudasim.kernel_library.cmath_functions import sin

_NUMBERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
_COMPLEX = (("complex64", "float32"), ("complex128", "float64"))
_PARTS = (*((name, name) for name in _NUMBERS), *((part, whole) for whole, part in _COMPLEX))


@library_function("numpy.real", *_PARTS, exact=True)
def real(val):
    return val.real


@library_function("numpy.imag", *_PARTS, exact=True)
def imag(val):
    return val.imag


@library_function("numpy.angle", *(("float64", name, "bool") for name in (*_NUMBERS, "complex64", "complex128")),
                  exact=True)  # fmt: skip
def angle(z, deg=False):
    radians = math.atan2(np.float64(z.imag), np.float64(z.real))
    return radians * (180.0 / math.pi) if deg else radians


@library_function("numpy.sinc", ("complex128", "complex64"), ("complex128", "complex128"),
                  *(("float64", name) for name in _NUMBERS), exact=True)  # fmt: skip
def sinc(x):
    if isinstance(x, (np.complex64, np.complex128)):
        z = np.complex128(x) * math.pi
        return sin(z) / z if z != 0.0 else complex(1.0, 0.0)
    y = np.float64(x) * math.pi
    return math.sin(y) / y if y != 0.0 else 1.0


@library_function("numpy.average")
def average(a, axis=None):
    return np.mean(a)


@library_function("numpy.trace", *(("float64", f"array({name}, 2d, A)", "int64") for name in ("float32", "float64")),
                  *(("complex128", f"array({name}, 2d, A)", "int64") for name, _ in _COMPLEX), exact=True)  # fmt: skip
def trace(a, offset=0):
    rows, columns = a.shape
    row, column = max(-offset, 0), max(offset, 0)
    total = 0.0
    for i in range(min(rows - row, columns - column)):
        total += a[row + i, column + i]
    return total


@library_function("numpy.searchsorted")
def searchsorted(a, v, side="left"):
    if side != "left" and side != "right":
        raise ValueError("searchsorted: side must be 'left' or 'right'")
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        element = a[middle]
        if side == "left":
            before = element < v or (v != v and element == element)
        else:
            before = element <= v or v != v
        if before:
            low = middle + 1
        else:
            high = middle
    return low
