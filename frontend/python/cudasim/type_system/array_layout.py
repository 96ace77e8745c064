"""Shapes, strides and layouts of arrays, as NumPy and Numba have them. Pure arithmetic: no memory is touched."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any


def contiguous_strides(shape: tuple[int, ...], itemsize: int, order: str) -> tuple[int, ...]:
    """Strides in bytes of a contiguous array."""
    strides, step = [0] * len(shape), itemsize
    axes = range(len(shape)) if order == "F" else reversed(range(len(shape)))
    for axis in axes:
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, order: str) -> bool:
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


def layout_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> str:
    """C, F or A; C when both fit, as Numba decides."""
    if is_contiguous(shape, strides, itemsize, "C"):
        return "C"
    return "F" if is_contiguous(shape, strides, itemsize, "F") else "A"


def shape_tuple(shape: Any) -> tuple[int, ...]:
    """An integer or a sequence of integers (an array of them too) as a tuple."""
    try:
        result: tuple[int, ...] = (operator.index(shape),)
    except TypeError:
        try:
            result = tuple(map(operator.index, shape))
        except TypeError:
            raise TypeError(f"shape must be an integer or tuple of integers, got {shape!r}") from None
    if any(extent < 0 for extent in result):
        raise ValueError(f"an array cannot have a negative extent: shape {result}")
    if any(extent >= 1 << 63 for extent in result):
        raise ValueError(f"an extent must fit in 64 bits: shape {result}")
    return result


def strides_tuple(strides: Any) -> tuple[int, ...]:
    """Strides in bytes, given as an integer or a sequence, as a tuple."""
    result = tuple(map(operator.index, strides if np.iterable(strides) else (strides,)))
    if any(abs(stride) >= 1 << 63 for stride in result):
        raise ValueError(f"a stride must fit in 64 bits: strides {result}")
    return result


def is_aligned(address: int, strides: tuple[int, ...], dtype: Any) -> bool:
    """Whether every element lies at a multiple of its alignment."""
    return not (address % dtype.alignment or any(stride % dtype.alignment for stride in strides))


def element_count(shape: Any) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def extent_in_bytes(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Bytes from the lowest to the end of the highest element."""
    if 0 in shape:
        return 0
    return itemsize + sum(abs(stride) * (extent - 1) for extent, stride in zip(shape, strides))


def lowest_offset(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Where the lowest element lies, in bytes from the first one: 0, or less with negative strides."""
    return sum(min(0, (extent - 1) * stride) for extent, stride in zip(shape, strides) if extent)


def strides_like(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides of a contiguous array whose axes lie in memory in the same order as those of a strided one."""
    result, step = [0] * len(shape), itemsize
    for axis in sorted(range(len(shape)), key=lambda axis: strides[axis]):
        result[axis] = step
        step *= max(shape[axis], 1)
    return tuple(result)


def expanded_index(index: Any, ndim: int) -> tuple[Any, ...]:
    """One int or slice per axis."""
    items = index if isinstance(index, tuple) else (index,)
    for item in items:
        if item is not Ellipsis and not isinstance(item, slice) and not hasattr(item, "__index__"):
            raise TypeError(
                f"device arrays are indexed with ints, slices and ..., got {item!r}; copy to the host for anything "
                "else"
            )
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can have one ... only")
    if any(item is Ellipsis for item in items):
        at = next(place for place, item in enumerate(items) if item is Ellipsis)
        items = (*items[:at], *[slice(None)] * (ndim - len(items) + 1), *items[at + 1 :])
    if len(items) > ndim:
        raise IndexError(f"too many indices: the array has {ndim} dimensions, the index names {len(items)}")
    return (*items, *[slice(None)] * (ndim - len(items)))


def completed_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape with -1 replaced by what is left."""
    shape = tuple(map(operator.index, shape))
    if shape.count(-1) > 1:
        raise ValueError(f"can only specify one unknown dimension: shape {shape}")
    if -1 in shape:
        rest = element_count(extent for extent in shape if extent != -1)
        if not rest or size % rest:
            raise ValueError(
                f"cannot infer valid shape for unknown dimension: {size} elements, shape {shape}"
            )
        shape = tuple(size // rest if extent == -1 else extent for extent in shape)
    if element_count(shape) != size or any(extent < 0 for extent in shape):
        raise ValueError(f"reshape changes the size of the array: {size} elements, shape {shape}")
    return shape


def reshaped_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], new_shape: tuple[int, ...], itemsize: int, order: str
) -> tuple[int, ...] | None:
    """Strides that give the same memory a new shape, elements taken in C or F order; None when it needs a copy."""
    if 0 in shape:
        return contiguous_strides(new_shape, itemsize, order)
    if order == "F":
        backwards = reshaped_strides(shape[::-1], strides[::-1], new_shape[::-1], itemsize, "C")
        return None if backwards is None else backwards[::-1]
    axes = [(extent, stride) for extent, stride in zip(shape, strides) if extent != 1]
    result = [itemsize] * len(new_shape)
    taken = begin = 0
    while taken < len(axes):
        # The shortest run of old axes and the run of new ones that have as many elements.
        count, stride = axes[taken]
        end, new_count = begin, 1
        while new_count != count:
            if new_count < count:
                new_count *= new_shape[end]
                end += 1
                continue
            taken += 1
            extent, inner = axes[taken]
            if stride != extent * inner:
                return None
            count, stride = count * extent, inner
        taken += 1
        for axis in reversed(range(begin, end)):
            result[axis] = stride
            stride *= new_shape[axis]
        begin = end
    return tuple(result)
