"""Shapes, strides and layouts of arrays, as NumPy and Numba name them."""

import operator

from cudasim import types

_type_names = {}  # (dtype, ndim, layout) → "array(float64, 1d, C)"


def array_type_name(dtype, ndim, layout):
    """Numba's name of the array type. Raises TypeError for dtypes that kernels cannot have."""
    key = (dtype, ndim, layout)
    try:
        return _type_names[key]
    except KeyError:
        if not dtype.isnative:
            raise TypeError(
                f"kernels take arrays in this machine's byte order; convert the {dtype.str} array "
                "with .astype(a.dtype.newbyteorder('='))"
            ) from None
        name = _type_names[key] = f"array({types.name_of(dtype)}, {ndim}d, {layout})"
        return name


def contiguous_strides(shape, itemsize, order):
    """Strides in bytes of a contiguous array."""
    strides, step = [0] * len(shape), itemsize
    axes = range(len(shape)) if order == "F" else reversed(range(len(shape)))
    for axis in axes:
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def is_contiguous(shape, strides, itemsize, order):
    if 0 in shape:
        return True
    expected = itemsize
    axes = range(len(shape)) if order == "F" else reversed(range(len(shape)))
    for axis in axes:
        if shape[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= shape[axis]
    return True


def layout_of(shape, strides, itemsize):
    """C, F or A; C when both fit, as Numba decides."""
    if is_contiguous(shape, strides, itemsize, "C"):
        return "C"
    return "F" if is_contiguous(shape, strides, itemsize, "F") else "A"


def shape_tuple(shape):
    if isinstance(shape, (tuple, list)):
        result = tuple(map(operator.index, shape))
    else:
        result = (operator.index(shape),)
    if any(extent < 0 for extent in result):
        raise ValueError(f"an array cannot have a negative extent: shape {result}")
    return result


def element_count(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count
