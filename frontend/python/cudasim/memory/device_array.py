"""DeviceNDArray: an array in simulated device memory. array_functions.py makes them, device_contents.py has what
they share with device records.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from cudasim import errors
from cudasim.memory.device_contents import DeviceContents
from cudasim.memory.device_record import DeviceRecord
from cudasim.type_system.array_layout import (
    completed_shape,
    contiguous_strides,
    expanded_index,
    reshaped_strides,
)
from cudasim.type_system.typeof import type_of_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np

    from cudasim.type_system.container_types import Array


class DeviceNDArray(DeviceContents):
    """An n-dimensional array in device memory.

    Indexing gives views (slices) and NumPy scalars or device records (single elements, one copy each).
    """

    __slots__ = ()

    def __cudasim_typeof__(self) -> Array:
        return self.kernel_type or type_of_array(self, self.layout)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __array__(self, dtype: np.dtype | None = None, copy: Any = None) -> Any:
        if copy is False:
            raise ValueError("a device array becomes a host array by a copy; copy=False is not supported")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    def _select(self, index, stream=0):
        """The view that an index names."""
        shape, strides, address = [], [], self._address
        for axis, item in enumerate(expanded_index(index, self.ndim)):
            extent, stride = self.shape[axis], self.strides[axis]
            if isinstance(item, slice):
                start, stop, step = item.indices(extent)
                count = len(range(start, stop, step))
                address += start * stride if count else 0
                shape.append(count)
                strides.append(step * stride)
                continue
            position = operator.index(item)
            if not -extent <= position < extent:
                raise IndexError(f"index {position} is out of bounds for axis {axis} with size {extent}")
            address += (position + extent if position < 0 else position) * stride
        return self._view(tuple(shape), tuple(strides), address, stream=stream)

    def __getitem__(self, index: Any) -> Any:
        return self.getitem(index)

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """self[item]"""
        view = self._select(item, stream)
        if view.ndim:
            return view
        if self.dtype.names is not None:
            return DeviceRecord.at(view)
        return view._read(self._default_stream(stream), check=True)[()]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.setitem(index, value)

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """self[key] = value"""
        # array_interface imports this module
        from cudasim.memory.array_interface import as_device_or_contiguous

        target = self._select(key, stream)
        value = as_device_or_contiguous(value)
        if value.dtype.hasobject or (value.dtype.kind == "c" and self.dtype.kind != "c"):
            raise errors.TypingError(
                f"Cannot assign a value of dtype {value.dtype} to an array of {self.dtype}"
            )
        if value.ndim > target.ndim:
            raise ValueError(f"Can't assign {value.ndim}-D array to {target.ndim}-D self")
        for axis, extent in enumerate(value.shape, target.ndim - value.ndim):
            if extent not in (1, target.shape[axis]):
                raise ValueError(
                    f"Can't copy sequence with size {extent} to array axis {axis} with dimension "
                    f"{target.shape[axis]}"
                )
        if isinstance(value, DeviceContents):
            value = value._read(stream)
        target._write(value.astype(self.dtype, copy=False), self._default_stream(stream))

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def reshape(self, *newshape: Any, order: str = "C") -> DeviceNDArray:
        """The same memory in another shape. As in numba.cuda the elements of a contiguous array are taken in the
        order of memory, whatever its layout."""
        if len(newshape) == 1 and isinstance(newshape[0], (tuple, list)):
            newshape = tuple(newshape[0])
        shape, itemsize = completed_shape(newshape, self.size), self.dtype.itemsize
        if order not in ("C", "F", "A"):
            raise ValueError(f"order not C|F|A: {order!r}")
        if order == "A":
            order = "F" if self.is_f_contiguous() else "C"
        if self.layout != "A":
            strides: tuple[int, ...] | None = contiguous_strides(shape, itemsize, order)
        else:
            strides = reshaped_strides(self.shape, self.strides, shape, itemsize, order)
        if strides is None:
            raise NotImplementedError(
                f"reshape would require copy: shape {self.shape} with strides {self.strides} to {shape}; make a "
                "contiguous copy first"
            )
        return self._view(shape, strides, self._address)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        """The same memory in one dimension; the array must be contiguous in that order."""
        if order not in ("C", "F", "A"):
            raise ValueError(f"order not C|F|A: {order!r}")
        fits = {"C": self.is_c_contiguous(), "F": self.is_f_contiguous()}
        if not (fits["C"] or fits["F"] if order == "A" else fits[order]):
            raise NotImplementedError(f"ravel on non-contiguous array (layout {self.layout}, order {order})")
        return self._view((self.size,), (self.dtype.itemsize,), self._address, stream=stream)


DeviceContents.array_class = DeviceNDArray
