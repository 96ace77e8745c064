"""DeviceNDArray: an array in simulated device memory, and the functions that make one.

Device memory is the engine's own arena; host code reaches it by copies only (rule E9). The memory is freed when
the last array (or view) on it is collected, also while a launch runs (frontend/bindings/simulated_device.h).
"""

import operator
import os
import sys

import numpy as np

from cudasim.cuda.array_layout import (
    array_type_name,
    contiguous_strides,
    element_count,
    is_contiguous,
    layout_of,
    shape_tuple,
)
from cudasim.cuda.device import native_device


def _caller_label():
    """Where the user's code made the array: what memory reports call the allocation."""
    frame = sys._getframe(2)
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    if frame is None:
        return ""
    return f"device array made at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class DeviceNDArray:
    """An n-dimensional array in device memory.

    Indexing gives views (slices) and NumPy scalars (single elements, one copy each).
    """

    __slots__ = (
        "_allocation",
        "_address",
        "shape",
        "strides",
        "dtype",
        "ndim",
        "size",
        "layout",
        "stream",
        "type_name",
        "parameters",
        "__weakref__",
    )

    __cuda_memory__ = True
    __cuda_ndarray__ = True
    __array_priority__ = 1000

    def __init__(
        self, shape, strides, dtype, stream=0, gpu_data=None, *, address=None, poison=True, label=None
    ):
        """An array over new memory, or over `gpu_data` (an allocation) from `address` on."""
        shape = shape_tuple(shape)
        dtype = np.dtype(dtype)
        if strides is None:
            strides = contiguous_strides(shape, dtype.itemsize, "C")
        elif not isinstance(strides, tuple):
            strides = (strides,) if isinstance(strides, int) else tuple(strides)
        if len(strides) != len(shape):
            raise ValueError(f"shape {shape} and strides {strides} have different lengths")
        if dtype.hasobject:
            raise TypeError("device memory cannot hold Python objects; give the array a numeric dtype")
        self.shape, self.strides, self.dtype, self.ndim = shape, strides, dtype, len(shape)
        self.size = element_count(shape)
        self.layout = layout_of(shape, strides, dtype.itemsize)
        self.stream = stream
        if gpu_data is None:
            # At least one byte, so that empty arrays have an address of their own.
            extent = max(_extent(shape, strides, dtype.itemsize), 1)
            gpu_data = native_device().allocate(extent, _caller_label() if label is None else label, poison)
            address = gpu_data.address
        self._allocation, self._address = gpu_data, address
        try:
            self.type_name = array_type_name(dtype, self.ndim, self.layout)
        except TypeError:
            self.type_name = None  # such an array can be copied; passing it to a kernel is refused
        #: what a kernel gets: address, shape, strides in bytes
        self.parameters = (address, *shape, *strides)

    # -- what it is ---------------------------------------------------------------------------------------

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    alloc_size = nbytes

    @property
    def gpu_data(self):
        """The allocation that the array lies in."""
        return self._allocation

    @property
    def device_ctypes_pointer(self):
        import ctypes

        return ctypes.c_void_p(self._address)

    @property
    def __cuda_array_interface__(self):
        strides = None if self.is_c_contiguous() else self.strides
        return {
            "shape": self.shape,
            "strides": strides,
            "data": (self._address if self.size else 0, False),
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": None,
            "version": 3,
        }

    @property
    def flags(self):
        return {"C_CONTIGUOUS": self.is_c_contiguous(), "F_CONTIGUOUS": self.is_f_contiguous()}

    def is_c_contiguous(self):
        return self.layout == "C"

    def is_f_contiguous(self):
        return is_contiguous(self.shape, self.strides, self.dtype.itemsize, "F")

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __repr__(self):
        return f"<DeviceNDArray shape={self.shape} dtype={self.dtype} layout={self.layout}>"

    def bind(self, stream=0):
        """The same array for use with another stream."""
        return self._view(self.shape, self.strides, self._address)

    # -- copies -------------------------------------------------------------------------------------------

    def _read(self):
        """The elements as a new host array of the same layout."""
        order = "F" if self.layout == "F" else "C"
        if self.layout != "A":
            host = np.empty(self.shape, self.dtype, order=order)
            if self.size:
                native_device().copy_from_device(_bytes_of(host), self._address)
            return host
        extent, view = self._host_extent()
        native_device().copy_from_device(extent, self._lowest_address())
        return view.copy()

    def _host_extent(self):
        """A host buffer as long as the memory that the array spans, and the array over that buffer."""
        extent = np.empty(_extent(self.shape, self.strides, self.dtype.itemsize), np.uint8)
        view = np.ndarray(
            self.shape, self.dtype, extent, self._address - self._lowest_address(), self.strides
        )
        return extent, view

    def _lowest_address(self):
        return self._address + sum(
            min(0, stride * (extent - 1)) for extent, stride in zip(self.shape, self.strides)
        )

    def copy_to_host(self, ary=None, stream=0):
        """Copies to the host: into `ary`, or into a new array, which is returned."""
        if ary is None:
            return self._read()
        if not isinstance(ary, np.ndarray):
            raise TypeError(f"copy_to_host() copies into NumPy arrays, got {type(ary).__name__}")
        self._check_compatible(ary)
        if ary.nbytes and self.layout != "A" and ary.strides == self.strides:
            native_device().copy_from_device(_bytes_of(ary), self._address)
        else:
            ary[...] = self._read()
        return ary

    def copy_to_device(self, ary, stream=0):
        """Copies `ary`, a host or device array of the same shape and dtype, into this one."""
        if isinstance(ary, DeviceNDArray):
            self._check_compatible(ary)
            if self.layout != "A" and ary.strides == self.strides:
                if self.size:
                    native_device().copy_within_device(self._address, ary._address, self.nbytes)
                return
            ary = ary._read()
        host = np.asarray(ary)
        self._check_compatible(host)
        self._write(host)

    def _check_compatible(self, other):
        if other.dtype != self.dtype:
            raise TypeError(f"the arrays have different dtypes: device {self.dtype}, other {other.dtype}")
        if tuple(other.shape) != self.shape:
            raise ValueError(
                f"the arrays have different shapes: device {self.shape}, other {tuple(other.shape)}"
            )

    def _write(self, host):
        """Copies a host array that broadcasts to this one's shape."""
        if not self.size:
            return
        device = native_device()
        if self.layout != "A":
            if host.shape != self.shape or host.strides != self.strides:
                ordered = np.empty(self.shape, self.dtype, order=self.layout)
                ordered[...] = host
                host = ordered
            device.copy_to_device(self._address, _bytes_of(host))
            return
        extent, view = self._host_extent()
        device.copy_from_device(extent, self._lowest_address())
        view[...] = host
        device.copy_to_device(self._lowest_address(), extent)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a device array becomes a host array by a copy; copy=False cannot be had")
        host = self._read()
        return host if dtype is None else host.astype(dtype, copy=False)

    # -- views --------------------------------------------------------------------------------------------

    def _view(self, shape, strides, address, dtype=None):
        return DeviceNDArray(
            shape,
            strides,
            self.dtype if dtype is None else dtype,
            self.stream,
            self._allocation,
            address=address,
        )

    def _select(self, index):
        """The view that an index names."""
        items = _expanded_index(index, self.ndim)
        shape, strides, address = [], [], self._address
        for axis, item in enumerate(items):
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
        return self._view(tuple(shape), tuple(strides), address)

    def __getitem__(self, index):
        view = self._select(index)
        return view._read()[()] if view.ndim == 0 else view

    getitem = __getitem__

    def __setitem__(self, index, value):
        target = self._select(index)
        if isinstance(value, DeviceNDArray):
            value = value._read()
        target._write(np.broadcast_to(np.asarray(value, dtype=self.dtype), target.shape))

    def setitem(self, index, value, stream=0):
        self[index] = value

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def reshape(self, *newshape, order="C"):
        """The same memory in another shape; the array must be contiguous."""
        if len(newshape) == 1 and isinstance(newshape[0], (tuple, list)):
            newshape = tuple(newshape[0])
        shape = _completed_shape(newshape, self.size)
        if self.layout != order and not (order == "F" and self.is_f_contiguous()):
            raise NotImplementedError(
                f"reshape of a device array of layout {self.layout} in order {order}; "
                "copy it to a contiguous one first"
            )
        return self._view(shape, contiguous_strides(shape, self.dtype.itemsize, order), self._address)

    def ravel(self, order="C", stream=0):
        """The same memory in one dimension."""
        return self.reshape(self.size, order=order)

    def view(self, dtype):
        """The same memory as elements of another dtype."""
        dtype = np.dtype(dtype)
        if dtype.itemsize == self.dtype.itemsize:
            return self._view(self.shape, self.strides, self._address, dtype)
        if not self.shape or self.layout != "C" or (self.shape[-1] * self.dtype.itemsize) % dtype.itemsize:
            raise ValueError(
                f"a view of {self.dtype} as {dtype} needs a C-contiguous array whose last axis "
                f"holds a multiple of {dtype.itemsize} bytes"
            )
        shape = (*self.shape[:-1], self.shape[-1] * self.dtype.itemsize // dtype.itemsize)
        return self._view(shape, contiguous_strides(shape, dtype.itemsize, "C"), self._address, dtype)

    def transpose(self, axes=None):
        """The same memory with axes in another order (reversed unless said)."""
        order = tuple(reversed(range(self.ndim))) if axes is None else tuple(axes)
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"{order} does not name the axes of a {self.ndim}-dimensional array")
        return self._view(
            tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order), self._address
        )

    @property
    def T(self):  # noqa: N802 - NumPy's name
        return self.transpose()

    def split(self, section, stream=0):
        """Views of `section` elements each, the last one shorter if need be."""
        if self.ndim != 1:
            raise ValueError("split() works on one-dimensional arrays")
        for begin in range(0, self.size, section):
            yield self[begin : begin + section]


def _bytes_of(host):
    """The array's memory as something with the buffer protocol (datetimes and some others have none)."""
    if host.dtype.kind in "biufc":
        return host
    return host.reshape(-1, order="A").view(np.uint8) if host.size else host


def _extent(shape, strides, itemsize):
    """Bytes from the lowest to the end of the highest element."""
    if 0 in shape:
        return 0
    return itemsize + sum(abs(stride) * (extent - 1) for extent, stride in zip(shape, strides))


def _expanded_index(index, ndim):
    """One int or slice per axis."""
    items = index if isinstance(index, tuple) else (index,)
    if any(item is None or isinstance(item, (list, np.ndarray)) for item in items):
        raise NotImplementedError(
            "device arrays are indexed with ints, slices and ...; copy to the host for anything else"
        )
    if items.count(Ellipsis) > 1:
        raise IndexError("an index can have one ... only")
    if Ellipsis in items:
        at = items.index(Ellipsis)
        items = (*items[:at], *[slice(None)] * (ndim - len(items) + 1), *items[at + 1 :])
    if len(items) > ndim:
        raise IndexError(f"too many indices: the array has {ndim} dimensions, the index names {len(items)}")
    return (*items, *[slice(None)] * (ndim - len(items)))


def _completed_shape(shape, size):
    """The shape with -1 replaced by what is left."""
    shape = tuple(map(operator.index, shape))
    if shape.count(-1) == 1:
        rest = element_count(extent for extent in shape if extent != -1)
        if rest and size % rest == 0:
            shape = tuple(size // rest if extent == -1 else extent for extent in shape)
    if element_count(shape) != size or any(extent < 0 for extent in shape):
        raise ValueError(f"an array of {size} elements cannot have shape {shape}")
    return shape


# -- making arrays ----------------------------------------------------------------------------------------


def to_device(obj, stream=0, copy=True, to=None):
    """Copies a host array (or scalar, or sequence) to the device: into `to`, or into a new array."""
    if isinstance(obj, DeviceNDArray):
        return obj
    host = np.asarray(obj)
    if to is None:
        check_contiguous(host)
        to = DeviceNDArray(host.shape, host.strides, host.dtype, stream, poison=False)
        if copy:
            to._write(host)
        return to
    if copy:
        to.copy_to_device(host, stream)
    return to


def check_contiguous(host):
    """Only contiguous host arrays are copied to the device (as with numba.cuda)."""
    flags = host.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise ValueError(
            f"the array with shape {host.shape} and strides {host.strides} is not contiguous, and "
            "only contiguous arrays can be copied to the device; pass np.ascontiguousarray(a), and "
            "copy the result back if the kernel writes to it"
        )


def device_array(shape, dtype=np.float64, strides=None, order="C", stream=0):
    """A new array in device memory; its content is a poison pattern until it is written (rule V3)."""
    shape, dtype = shape_tuple(shape), np.dtype(dtype)
    if order not in ("C", "F"):
        raise ValueError(f"order is 'C' or 'F', got {order!r}")
    if strides is None:
        strides = contiguous_strides(shape, dtype.itemsize, order)
    return DeviceNDArray(shape, strides, dtype, stream)


def device_array_like(ary, stream=0):
    """A new array in device memory with the shape, dtype and layout of `ary`."""
    shape, dtype = tuple(ary.shape), np.dtype(ary.dtype)
    order = "F" if layout_of(shape, tuple(ary.strides), dtype.itemsize) == "F" else "C"
    return DeviceNDArray(shape, contiguous_strides(shape, dtype.itemsize, order), dtype, stream)


def pinned_array(shape, dtype=np.float64, strides=None, order="C"):
    """A host array; with eager launches pinned memory behaves like any other (rule V7)."""
    array = np.empty(shape, dtype, order=order)
    return array if strides is None else np.ndarray(shape, dtype, array, strides=strides)


def pinned_array_like(ary):
    """A host array with the shape and dtype of `ary`."""
    return np.empty_like(ary)


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
        raise TypeError(f"{type(obj).__name__} has no __cuda_array_interface__")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj)


def from_cuda_array_interface(description, owner=None, sync=True):
    """A device array over the memory that a __cuda_array_interface__ dictionary describes."""
    dtype = np.dtype(description["typestr"])
    shape = tuple(description["shape"])
    strides = description.get("strides") or contiguous_strides(shape, dtype.itemsize, "C")
    return DeviceNDArray(
        shape,
        tuple(strides),
        dtype,
        0,
        owner if owner is not None else description,
        address=description["data"][0],
    )


def auto_device(obj, stream=0, copy=True, user_explicit=False):
    """The array itself and False if it is on the device, else a device copy and True."""
    if isinstance(obj, DeviceNDArray):
        return obj, False
    return to_device(obj, stream, copy), True
