"""Shapes, strides and extents of arrays without memory: numba.cuda.cudadrv.dummyarray. Offsets are in bytes from the
start of the memory; an Extent is the half-open range of them that holds all elements.

numba.cuda's device arrays are made of it; here it is for programs that use it by itself.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cudasim.type_system.array_layout import (
    completed_shape,
    contiguous_strides,
    element_count,
    expanded_index,
    is_contiguous,
    reshaped_strides,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Extent(NamedTuple):
    """A range of bytes."""

    begin: int
    end: int


class Element:
    """One element."""

    is_array = False

    def __init__(self, extent: Extent) -> None:
        self.extent = extent

    def iter_contiguous_extent(self) -> Iterator[Any]:
        yield self.extent


class Array:
    """An array that begins `offset` bytes into its memory."""

    is_array = True

    @classmethod
    def from_desc(cls, offset: int, shape: tuple[Any, ...], strides: tuple[int, ...], itemsize: int) -> Array:
        for extent in shape:
            if not isinstance(extent, (int, np.integer)):
                raise TypeError("all elements of shape must be ints")
        return cls(int(offset), tuple(map(int, shape)), tuple(map(int, strides)), itemsize)

    def __init__(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
        self._offset, self.shape, self.strides, self.itemsize = offset, shape, strides, itemsize
        self.ndim, self.size = len(shape), element_count(shape)
        last = offset + sum(stride * (count - 1) for stride, count in zip(strides, shape))
        self.extent = Extent(offset, max(last + itemsize, offset))
        repeats = self.size and 0 in strides
        self.flags = {
            f"{order}_CONTIGUOUS": not repeats and is_contiguous(shape, strides, itemsize, order)
            for order in "CF"
        }

    def __repr__(self) -> str:
        return f"<Array offset={self._offset} shape={self.shape} strides={self.strides} itemsize={self.itemsize}>"

    @property
    def is_c_contig(self) -> bool:
        return self.flags["C_CONTIGUOUS"]

    @property
    def is_f_contig(self) -> bool:
        return self.flags["F_CONTIGUOUS"]

    def __getitem__(self, item: tuple[Any, ...]) -> Any:
        if isinstance(item, tuple) and len(item) > self.ndim:
            raise IndexError(f"{len(item) - self.ndim} extra indices given")
        offset, shape, strides = self._offset, [], []
        for axis, each in enumerate(expanded_index(item, self.ndim)):
            count, stride = self.shape[axis], self.strides[axis]
            if isinstance(each, slice):
                start, stop, step = each.indices(count)
                length = len(range(start, stop, step))
                offset += start * stride
                shape.append(length)
                strides.append(step * stride)
            elif -count <= each < count:
                offset += (each + count if each < 0 else each) * stride
            else:
                raise IndexError(f"index {each} is out of bounds for axis {axis} with size {count}")
        if not shape:
            return Element(Extent(offset, offset + self.itemsize))
        return Array(offset, tuple(shape), tuple(strides), self.itemsize)

    def iter_contiguous_extent(self) -> Iterator[Any]:
        """The ranges of bytes that hold the elements: one of a contiguous array, else one for each run."""
        if self.is_c_contig or self.is_f_contig:
            yield self.extent
            return
        inner = 0 if self.strides[0] < self.strides[-1] else self.ndim - 1
        run = self.itemsize
        axes = list(range(self.ndim))
        if self.strides[inner] == self.itemsize:
            run *= self.shape[inner]
            axes.remove(inner)
        for index in itertools.product(*(range(self.shape[axis]) for axis in axes)):
            begin = self._offset + sum(i * self.strides[axis] for i, axis in zip(index, axes))
            yield Extent(begin, begin + run)

    def _changed(self, shape, strides):
        return Array(self._offset, tuple(shape), tuple(strides), self.itemsize), list(
            self.iter_contiguous_extent()
        )

    def reshape(self, *newdims: Any, order: str = "C") -> tuple[Any, ...]:
        """The array in another shape, and the extents of this one."""
        if newdims == self.shape:
            return self, None
        if order not in ("C", "F", "A"):
            raise ValueError("order not C|F|A")
        if order == "A":
            order = "F" if self.is_f_contig else "C"
        shape = completed_shape(newdims, self.size)
        if self.is_c_contig or self.is_f_contig:
            strides: tuple[int, ...] | None = contiguous_strides(shape, self.itemsize, order)
        else:
            strides = reshaped_strides(self.shape, self.strides, shape, self.itemsize, order)
        if strides is None:
            raise NotImplementedError("reshape would require copy")
        return self._changed(shape, strides)

    def squeeze(self, axis: int | None = None) -> tuple[Array, list[Extent]]:
        """The array without axes of extent 1, and the extents of this one."""
        given = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = {range(self.ndim)[number] for number in given}
        if axis is not None and any(self.shape[number] != 1 for number in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        kept = [number for number in range(self.ndim) if number not in axes or self.shape[number] != 1]
        return self._changed([self.shape[n] for n in kept], [self.strides[n] for n in kept])

    def ravel(self, order: str = "C") -> tuple[Array, list[Extent]]:
        """The array in one dimension, and the extents of this one."""
        if order not in ("C", "F", "A"):
            raise ValueError("order not C|F|A")
        if (order in "CA" and self.is_c_contig) or (order in "FA" and self.is_f_contig):
            return self._changed((self.size,), (self.itemsize,))
        raise NotImplementedError("ravel on non-contiguous array")
