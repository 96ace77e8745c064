"""The functions that make arrays: on the device, pinned on the host, and over the memory of other libraries
(__cuda_array_interface__, https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html).
"""

import numpy as np

from cudasim.cuda.array_layout import contiguous_strides, layout_of, shape_tuple, strides_like
from cudasim.cuda.device_array import DeviceNDArray, check_contiguous


def to_device(obj, stream=0, copy=True, to=None):
    """Copies a host array (or scalar, or sequence) to the device: into `to`, or into a new array."""
    if to is None:
        return auto_device(obj, stream, copy)[0]
    if copy:
        to.copy_to_device(obj, stream)
    return to


def auto_device(obj, stream=0, copy=True, user_explicit=False):
    """The array itself and False if it is on the device, else a device copy and True."""
    if isinstance(obj, DeviceNDArray):
        return obj, False
    if is_cuda_array(obj):
        return as_cuda_array(obj), False
    host = np.asanyarray(obj)
    check_contiguous(host)
    array = DeviceNDArray(host.shape, host.strides, host.dtype, stream, poison=not copy)
    if copy:
        array._write(host)
    return array, True


def as_device_or_contiguous(obj):
    """What can be assigned to a part of a device array: a device array, or a contiguous host array."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if is_cuda_array(obj):
        return as_cuda_array(obj)
    host = np.asanyarray(obj)
    check_contiguous(host)
    return host


def _shape_strides_dtype(shape, strides, dtype, order):
    shape, dtype = shape_tuple(shape), np.dtype(dtype)
    if order not in ("C", "F"):
        raise ValueError(f"must be either C/F order, got {order!r}")
    return shape, strides or contiguous_strides(shape, dtype.itemsize, order), dtype


def device_array(shape, dtype=np.float64, strides=None, order="C", stream=0):
    """A new array in device memory; its content is a poison pattern until it is written (rule V3)."""
    shape, strides, dtype = _shape_strides_dtype(shape, strides, dtype, order)
    return DeviceNDArray(shape, strides, dtype, stream)


def _like(ary):
    """Shape, strides and dtype of a new contiguous array with the axes of `ary` in the same order."""
    shape, strides, dtype = tuple(ary.shape), tuple(ary.strides), np.dtype(ary.dtype)
    layout = layout_of(shape, strides, dtype.itemsize)
    if layout == "A" and len(shape) > 1:
        return shape, strides_like(shape, strides, dtype.itemsize), dtype
    return shape, contiguous_strides(shape, dtype.itemsize, "F" if layout == "F" else "C"), dtype


def device_array_like(ary, stream=0):
    """A new array in device memory with the shape, dtype and layout of `ary`."""
    return DeviceNDArray(*_like(ary), stream)


def _host_array(shape, strides, dtype):
    count = sum(stride * (extent - 1) for extent, stride in zip(shape, strides)) + dtype.itemsize
    return np.ndarray(shape, dtype, np.empty(0 if 0 in shape else count, np.uint8), strides=strides)


def pinned_array(shape, dtype=np.float64, strides=None, order="C"):
    """A host array; with eager launches pinned memory behaves like any other (rule V7)."""
    shape, strides, dtype = _shape_strides_dtype(shape, strides, dtype, order)
    return _host_array(shape, strides if np.iterable(strides) else (strides,), dtype)


def pinned_array_like(ary):
    """A host array with the shape, dtype and layout of `ary`."""
    return _host_array(*_like(ary))


class pinned:  # noqa: N801 - numba.cuda's name
    """`with cuda.pinned(a, b):` for the length of the block; nothing to do."""

    def __init__(self, *arrays):
        self._arrays = arrays

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


def is_cuda_array(obj):
    """Whether the object says it is an array in device memory."""
    return hasattr(obj, "__cuda_array_interface__")


def is_cuda_ndarray(obj):
    """Whether the object is an array in device memory of this package."""
    return isinstance(obj, DeviceNDArray)


def as_cuda_array(obj, sync=True):
    """A device array over the memory of an object with __cuda_array_interface__."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if not is_cuda_array(obj):
        raise TypeError(f"{type(obj).__name__} does not implement the cuda array interface")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj)


def from_cuda_array_interface(desc, owner=None, sync=True):
    """A device array over the memory that a __cuda_array_interface__ dictionary describes."""
    if desc.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    dtype = np.dtype(desc["typestr"])
    shape = shape_tuple(desc["shape"])
    strides = desc.get("strides")
    strides = contiguous_strides(shape, dtype.itemsize, "C") if strides is None else tuple(strides)
    keeper = desc if owner is None else owner
    return DeviceNDArray(shape, strides, dtype, 0, keeper, address=desc["data"][0] or 0, foreign=True)
