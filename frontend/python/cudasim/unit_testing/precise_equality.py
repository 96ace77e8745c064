"""Equality as Numba's tests mean it (numba.cuda.testing's assertPreciseEqual): of kind and value, inside containers too."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

#: Bits of precision that are compared: IEEE 754 binary32 and binary64 have 24 and 53.
_EPSILON = {"single": 2.0**-23, "double": 2.0**-52}


def assert_precisely_equal(
    first: Any,
    second: Any,
    prec: str = "exact",
    ulps: int = 1,
    ignore_sign_on_zero: bool = False,
    abs_tol: float | None = None,
) -> None:
    """:raises AssertionError: saying what differs, and where inside containers"""
    if prec not in ("exact", *_EPSILON):
        raise ValueError(f'prec is "exact", "single" or "double", not {prec!r}')
    options = prec, ulps, ignore_sign_on_zero, abs_tol
    _compare(first, second, options, "")


def _kind(value):
    """What must agree: Python's and NumPy's numbers of one kind and precision do."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, np.generic) and value.dtype.kind in "fcmM":
        return value.dtype.name.replace("float64", "float").replace("complex128", "complex")
    if isinstance(value, numbers.Integral):
        return "int"
    if isinstance(value, np.ndarray):
        return "array"
    return type(value).__name__


def _compare(first, second, options, where):
    kinds = _kind(first), _kind(second)
    place = f" at {where}" if where else ""
    assert kinds[0] == kinds[1], (
        f"{first!r} ({kinds[0]}) and {second!r} ({kinds[1]}) are of different kinds{place}"
    )
    if isinstance(first, np.ndarray):
        _compare_arrays(first, second, options, place)
    elif isinstance(first, (tuple, list)):
        assert len(first) == len(second), f"{len(first)} and {len(second)} elements{place}"
        for index, pair in enumerate(zip(first, second)):
            _compare(*pair, options, f"{where}[{index}]")
    elif isinstance(first, dict):
        assert first.keys() == second.keys(), f"different keys{place}: {list(first)} and {list(second)}"
        for key in first:
            _compare(first[key], second[key], options, f"{where}[{key!r}]")
    elif isinstance(first, (complex, np.complexfloating)):
        _compare_floats(first.real, second.real, options, place)
        _compare_floats(first.imag, second.imag, options, place)
    elif isinstance(first, (float, np.floating)):
        _compare_floats(float(first), float(second), options, place)
    else:
        assert first == second, f"{first!r} != {second!r}{place}"


def _compare_arrays(first, second, options, place):
    assert first.dtype == second.dtype, f"dtypes {first.dtype} and {second.dtype}{place}"
    assert first.shape == second.shape, f"shapes {first.shape} and {second.shape}{place}"
    for index in np.ndindex(first.shape):
        _compare(first[index], second[index], options, f"{list(index)}")


def _compare_floats(first, second, options, place):
    prec, ulps, ignore_sign_on_zero, abs_tol = options
    if math.isnan(first) or math.isnan(second):
        same = math.isnan(first) and math.isnan(second)
    elif first == second:
        same = ignore_sign_on_zero or first != 0 or math.copysign(1, first) == math.copysign(1, second)
    elif abs_tol is not None and abs(first - second) <= (
        _EPSILON.get(prec, 2.0**-52) if abs_tol == "eps" else abs_tol
    ):
        same = True
    elif prec == "exact" or math.isinf(first) or math.isinf(second):
        same = False
    else:
        same = abs(first - second) <= ulps * _EPSILON[prec] * max(abs(first), abs(second))
    assert same, f"{first!r} != {second!r}{place}"
