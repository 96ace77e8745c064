"""The functions that make arrays: on the device, and on the host in memory that is page-locked, mapped or managed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from cudasim.device.current import current_context
from cudasim.memory.array_interface import as_cuda_array, is_cuda_array
from cudasim.memory.device_array import DeviceNDArray
from cudasim.memory.device_contents import DeviceNDArrayBase
from cudasim.memory.device_memory import host_memory_extents, host_pointer, memory_size_from_info
from cudasim.memory.device_record import DeviceRecord
from cudasim.memory.host_visible_arrays import ManagedNDArray, MappedNDArray
from cudasim.type_system.array_compatibility import check_contiguous
from cudasim.type_system.array_layout import contiguous_strides, layout_of, shape_tuple, strides_like

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def to_device(
    obj: Any, stream: Any = 0, copy: bool = True, to: DeviceNDArray | None = None
) -> DeviceNDArrayBase:
    """Copies a host array (or scalar, or sequence) to the device: into `to`, or into a new array."""
    if to is None:
        return auto_device(obj, stream, copy, user_explicit=True)[0]
    if copy:
        to.copy_to_device(obj, stream)
    return to


def auto_device(obj: Any, stream: Any = 0, copy: bool = True, user_explicit: bool = False) -> tuple[Any, ...]:
    """The array itself and False if it is on the device, else a device copy and True."""
    if isinstance(obj, DeviceNDArrayBase):
        return obj, False
    if is_cuda_array(obj):
        return as_cuda_array(obj), False
    if isinstance(obj, np.void) and obj.dtype.names is not None:
        array: Any = DeviceRecord(obj.dtype, stream, poison=not copy)
        host = np.asarray(obj)
    else:
        host = np.asanyarray(obj)
        check_contiguous(host)
        array = DeviceNDArray(host.shape, host.strides, host.dtype, stream, poison=not copy)
    if copy:
        array._write(host, stream)
    return array, True


def prepare_shape_strides_dtype(shape: Any, strides: Any, dtype: Any, order: str) -> tuple[Any, ...]:
    """Shape and strides as tuples (contiguous in that order unless given), and the numpy.dtype."""
    shape, dtype = shape_tuple(shape), np.dtype(dtype)
    if order not in ("C", "F"):
        raise ValueError(f"must be either C/F order, got {order!r}")
    strides = strides or contiguous_strides(shape, dtype.itemsize, order)
    return shape, strides if np.iterable(strides) else (strides,), dtype


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceNDArray:
    """A new array in device memory; its content is a poison pattern until it is written (rule V3)."""
    shape, strides, dtype = prepare_shape_strides_dtype(shape, strides, dtype, order)
    return DeviceNDArray(shape, strides, dtype, stream)


def _like(ary):
    """Shape, dtype and strides of a new contiguous array with the axes of `ary` in the same order."""
    shape, strides, dtype = tuple(ary.shape), tuple(ary.strides), np.dtype(ary.dtype)
    layout = layout_of(shape, strides, dtype.itemsize)
    if layout == "A" and len(shape) > 1:
        return shape, dtype, strides_like(shape, strides, dtype.itemsize)
    return shape, dtype, contiguous_strides(shape, dtype.itemsize, "F" if layout == "F" else "C")


def _described(ary):
    """The object itself, or for what only has the CUDA array interface its array."""
    return ary if hasattr(ary, "strides") and hasattr(ary, "dtype") else as_cuda_array(ary)


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """A new array in device memory with the shape, dtype and layout of `ary`."""
    shape, dtype, strides = _like(_described(ary))
    return device_array(shape, dtype, strides, stream=stream)


def _host_array(shape, strides, dtype, allocate):
    """An ndarray over new memory, and the memory. allocate(bytes) → with the buffer protocol"""
    if dtype.hasobject:
        raise TypeError(
            "memory that copies and kernels use cannot hold Python objects; give the array a numeric dtype"
        )
    size = memory_size_from_info(shape, strides, dtype.itemsize)
    memory = allocate(size)
    below = -sum(min(0, stride * (count - 1)) for count, stride in zip(shape, strides) if count)
    return np.ndarray(shape, dtype, memory, below if size else 0, strides), memory


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> np.ndarray:
    """A new host array in page-locked memory. Kernels get copies of it, as of any host array."""
    shape, strides, dtype = prepare_shape_strides_dtype(shape, strides, dtype, order)
    return _host_array(shape, strides, dtype, current_context().memhostalloc)[0]


def pinned_array_like(ary: Any) -> np.ndarray:
    """The same with the shape, dtype and layout of `ary`."""
    return pinned_array(*_like(_described(ary)))


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> MappedNDArray:
    """A new host array that kernels use where it is: what they write is seen without a copy.

    :param portable, wc: accepted; the simulated devices share one address space
    """
    shape, strides, dtype = prepare_shape_strides_dtype(shape, strides, dtype, order)
    context = current_context()
    array, memory = _host_array(
        shape, strides, dtype, lambda size: context.memhostalloc(size, mapped=True, portable=portable, wc=wc)
    )
    mapped = np.ndarray.view(array, MappedNDArray)
    mapped.device_setup(memory, stream)
    return mapped


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> MappedNDArray:
    """The same with the shape, dtype and layout of `ary`."""
    shape, dtype, strides = _like(_described(ary))
    return mapped_array(shape, dtype, strides, stream=stream, portable=portable, wc=wc)


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> ManagedNDArray:
    """A new array in memory that host and devices use.

    :param attach_global: accepted; memory attached to the host is for devices from compute capability 6.0 on
    """
    shape, strides, dtype = prepare_shape_strides_dtype(shape, strides, dtype, order)
    context = current_context()
    array, memory = _host_array(
        shape, strides, dtype, lambda size: context.memallocmanaged(size, attach_global=attach_global)
    )
    managed = np.ndarray.view(array, ManagedNDArray)
    managed.device_setup(memory, stream)
    return managed


def _lock(ary, mapped):
    if not isinstance(ary, np.ndarray):
        raise TypeError(f"NumPy arrays can be page-locked, got {type(ary).__name__}")
    host_pointer(ary, readonly=not mapped)  # refuses memory that cannot be written
    begin, end = host_memory_extents(ary)
    return current_context().mempin(ary, begin, end - begin, mapped=mapped)


@contextlib.contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """`with cuda.pinned(a, b):` page-locks host arrays for the length of the block."""
    locked: list[Any] = []
    try:
        locked += (_lock(ary, mapped=False) for ary in arylist)
        yield
    finally:
        for memory in locked:
            memory.free()


@contextlib.contextmanager
def mapped(*arylist: Any, stream: Any = 0) -> Iterator[Any]:
    """`with cuda.mapped(a, b) as (da, db):` lets kernels use host arrays where they are, for the length of the block,
    as the device arrays that it gives (one for one array, else a list)."""
    locked, arrays = [], []
    try:
        for ary in arylist:
            memory = _lock(ary, mapped=True)
            locked.append(memory)
            address = ary.__array_interface__["data"][0]
            arrays.append(
                DeviceNDArray(
                    ary.shape, ary.strides, ary.dtype, stream, memory, address=address, foreign=True
                )
            )
        yield arrays[0] if len(arrays) == 1 else arrays
    finally:
        for memory in locked:
            memory.free()


def from_array_like(ary: Any, stream: Any = 0, gpu_data: Any = None) -> Any:
    """A device array of the shape, strides and dtype of `ary`."""
    return DeviceNDArray(ary.shape, ary.strides, ary.dtype, stream, gpu_data)


def from_record_like(rec: Any, stream: Any = 0, gpu_data: Any = None) -> Any:
    """A device record of the dtype of `rec`."""
    return DeviceRecord(rec.dtype, stream, gpu_data)


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether the object is an array in device memory of this package."""
    return bool(getattr(obj, "__cuda_ndarray__", False))


def require_cuda_ndarray(obj: Any) -> None:
    """:raises ValueError: for what is not a device array"""
    if not is_cuda_ndarray(obj):
        raise ValueError(f"require an cuda ndarray object, got {type(obj).__name__}")


def verify_cuda_ndarray_interface(obj: Any) -> None:
    """:raises ValueError, AttributeError: for what is not a device array, or has not all that one has"""
    require_cuda_ndarray(obj)
    for name, kind in (("shape", tuple), ("strides", tuple), ("dtype", np.dtype), ("size", int)):
        if not isinstance(getattr(obj, name), kind):
            raise AttributeError(f"{name} must be of type {kind}")
