"""MappedNDArray and ManagedNDArray: NumPy arrays over memory that kernels use too. What either side writes the
other one sees, without a copy.

Views of one are such arrays as well. What NumPy makes of them (a copy, a sum) has memory of its own: it is of the same
class, and a launch copies it as any host array. As in numba.cuda `view`, `squeeze`, `split`, `T` and `transpose` give
device arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim.device import host_visible
from cudasim.memory.device_array import DeviceNDArray
from cudasim.memory.device_contents import DeviceNDArrayBase
from cudasim.type_system.array_layout import extent_in_bytes
from cudasim.type_system.typeof import type_of_host_array

if TYPE_CHECKING:
    from typing import Any

_Class = type


def device_view(array: np.ndarray) -> DeviceNDArray | None:
    """The device array over the memory of a host array that kernels use too; None for any other host array."""
    if not isinstance(array, DeviceNDArrayBase):
        return None
    address = array.__array_interface__["data"][0]
    low = address + sum(
        min(0, stride * (extent - 1)) for extent, stride in zip(array.shape, array.strides) if extent
    )
    memory = host_visible.find(low) if array.size else None
    size = extent_in_bytes(array.shape, array.strides, array.itemsize)
    if memory is None or memory.kind == "pinned" or low + size > memory.end:
        return None
    keeper = array if array.gpu_data is None else array.gpu_data
    return DeviceNDArray(
        array.shape,
        array.strides,
        array.dtype,
        array.stream,
        keeper,
        address=address,
        device=host_visible.device_of(memory),
    )


class _HostVisibleArray(DeviceNDArrayBase, np.ndarray):
    gpu_data = None
    stream = 0

    def __array_finalize__(self, source):
        self.gpu_data = getattr(source, "gpu_data", None)
        self.stream = getattr(source, "stream", 0)

    def __cudasim_typeof__(self):
        mapped = device_view(self)
        return type_of_host_array(self) if mapped is None else mapped.__cudasim_typeof__()

    def device_setup(self, gpu_data, stream=0):
        """Says which memory the array is over."""
        self.gpu_data, self.stream = gpu_data, stream

    def _on_device(self) -> DeviceNDArray:
        """A device array over the memory, or over a copy of it where kernels do not see it."""
        view: Any = device_view(self)
        if view is None:
            from cudasim.memory.array_functions import to_device  # array_functions imports this module

            view = to_device(self.__array__())
        return view

    @property
    def device_ctypes_pointer(self):
        return self._on_device().device_ctypes_pointer

    @property
    def alloc_size(self):
        """Bytes of memory that the array spans."""
        return extent_in_bytes(self.shape, self.strides, self.itemsize)

    @property
    def __cuda_array_interface__(self):
        view = device_view(self)
        if view is None:
            raise AttributeError("this array is a host array, made by NumPy: kernels do not see its memory")
        return view.__cuda_array_interface__

    def bind(self, stream=0):
        """The same array with another default stream."""
        bound: Any = self[...]
        bound.stream = stream
        return bound

    def copy_to_host(self, ary=None, stream=0):
        """A copy in host memory, or in `ary`."""
        return self._on_device().copy_to_host(ary, stream)

    def copy_to_device(self, ary, stream=0):
        """Copies a host or device array of the same shape and dtype into this one."""
        self._on_device().copy_to_device(ary, stream)

    def get_ipc_handle(self):
        return self._on_device().get_ipc_handle()

    def split(self, section, stream=0):
        return self._on_device().split(section, stream)

    def squeeze(self, axis=None, stream=0):
        return self._on_device().squeeze(axis, stream)

    def transpose(self, axes=None):  # type: ignore[override]  # as numba.cuda: of one argument, a device array
        return self._on_device().transpose(axes)

    def view(self, dtype=None, type=None):  # noqa: A002 - NumPy's name
        """A device array of another dtype; NumPy's view for what names a class of arrays."""
        kind = dtype if type is None else type
        if isinstance(kind, _Class) and issubclass(kind, np.ndarray):
            return np.ndarray.view(self, kind)
        return self._on_device().view(self.dtype if dtype is None else dtype)


class MappedNDArray(_HostVisibleArray):
    """A NumPy array over mapped memory: page-locked host memory that kernels use."""


class ManagedNDArray(_HostVisibleArray):
    """A NumPy array over managed memory, which host and device use."""
