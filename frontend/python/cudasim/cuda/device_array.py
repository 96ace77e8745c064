"""DeviceNDArray: an array in simulated device memory. array_functions.py makes them.

Device memory is the engine's own arena; host code reaches it by copies only (rule E9). The memory is freed when
the last array (or view) on it is collected, also while a launch runs (frontend/bindings/simulated_device.h).
What numba.cuda refuses (copies between different strides, transposing three axes) is refused here too.
"""

import operator
import os

import numpy as np

from cudasim import errors
from cudasim._tracebacks import calling_frame
from cudasim.cuda.array_layout import (
    array_type_name,
    completed_shape,
    contiguous_strides,
    element_count,
    expanded_index,
    extent_in_bytes,
    is_aligned,
    is_contiguous,
    layout_of,
    reshaped_strides,
    shape_tuple,
    strides_tuple,
)
from cudasim.cuda.context import current_device
from cudasim.cuda.device_memory import MemoryPointer, device_of, pointer_to


def _caller_label():
    """Where the user's code made the array: what memory reports call the allocation."""
    frame = calling_frame()
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
        "device",
        "foreign",
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
        self,
        shape,
        strides,
        dtype,
        stream=0,
        gpu_data=None,
        *,
        address=None,
        device=None,
        poison=True,
        foreign=False,
    ):
        """An array over new memory on the current device, or over `gpu_data` (what keeps the memory) from
        `address` on.

        :param foreign: whether the memory is somebody else's, so that launches check that it is device memory
        """
        shape = shape_tuple(shape)
        dtype = np.dtype(dtype)
        if strides is None:
            strides = contiguous_strides(shape, dtype.itemsize, "C")
        else:
            strides = strides_tuple(strides)
        if len(strides) != len(shape):
            raise ValueError(f"strides not match ndim: shape {shape}, strides {strides}")
        if dtype.hasobject:
            raise TypeError("device memory cannot hold Python objects; give the array a numeric dtype")
        self.shape, self.strides, self.dtype, self.ndim = shape, strides, dtype, len(shape)
        self.size = element_count(shape)
        self.layout = layout_of(shape, strides, dtype.itemsize)
        self.stream = stream
        if gpu_data is None:
            self.device = current_device()
            # At least one byte, so that empty arrays have an address of their own.
            extent = min(max(self.alloc_size, 1), (1 << 64) - 1)
            gpu_data = self.device.native.allocate(extent, _caller_label(), poison)
            address = gpu_data.address
            address -= sum(min(0, stride * (count - 1)) for count, stride in zip(shape, strides) if count)
        else:
            foreign = foreign or address is None
            address = gpu_data.device_pointer if address is None else address
            self.device = device_of(address) if device is None else device
        self._allocation, self._address, self.foreign = gpu_data, address, foreign
        # Not set for what a launch has to look at more closely (arguments.py): foreign and misaligned memory, and
        # dtypes that no kernel takes.
        self.type_name = None
        if not foreign and is_aligned(address, strides, dtype):
            self.type_name = array_type_name(dtype, self.ndim, self.layout)
        #: what a kernel gets: address, shape, strides in bytes
        self.parameters = (address, *shape, *strides)

    # -- what it is ---------------------------------------------------------------------------------------

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    @property
    def alloc_size(self):
        """Bytes of memory that the array spans."""
        return extent_in_bytes(self.shape, self.strides, self.dtype.itemsize)

    @property
    def gpu_data(self):
        """The memory that the array lies in."""
        if isinstance(self._allocation, MemoryPointer):
            return self._allocation
        return pointer_to(self._address if self.size else 0, self.alloc_size, self._allocation)

    @property
    def device_ctypes_pointer(self):
        return self.gpu_data.device_ctypes_pointer

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "strides": None if self.is_c_contiguous() else self.strides,
            "data": (self._address if self.size else 0, False),
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": int(self.stream) or None,
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
        """The same array with another default stream."""
        bound = self._view(self.shape, self.strides, self._address)
        bound.stream = stream
        return bound

    def __copy__(self):
        return self._view(self.shape, self.strides, self._address)

    def __reduce__(self):
        raise TypeError(
            "a device array cannot be pickled: its memory belongs to this process; pickle d.copy_to_host()"
        )

    # -- copies -------------------------------------------------------------------------------------------

    def _read(self):
        """The elements as a new host array of the same strides."""
        if self.layout != "A":
            host = np.empty(self.shape, self.dtype, order=self.layout)
            if self.size:
                self.device.native.copy_from_device(_bytes_of(host), self._address)
            return host
        extent, view = self._host_extent()
        self.device.native.copy_from_device(extent, self._lowest_address())
        return view

    def _host_extent(self):
        """A host buffer as long as the memory that the array spans, and the array over that buffer."""
        extent = np.empty(self.alloc_size, np.uint8)
        view = np.ndarray(
            self.shape, self.dtype, extent, self._address - self._lowest_address(), self.strides
        )
        return extent, view

    def lies_in_device_memory(self):
        """Whether all its elements lie in one live allocation."""
        return not self.size or self.device.native.contains(self._lowest_address(), self.alloc_size)

    def _lowest_address(self):
        return self._address + sum(
            min(0, stride * (extent - 1)) for extent, stride in zip(self.shape, self.strides)
        )

    def copy_to_host(self, ary=None, stream=0):
        """Copies to the host: into `ary`, or into a new array, which is returned."""
        if any(stride < 0 for stride in self.strides):
            raise NotImplementedError(
                f"D->H copy not implemented for negative strides: {self.strides}; copy the array that this is a "
                "view of, and reverse it on the host"
            )
        if ary is None:
            return self._read()
        if not isinstance(ary, np.ndarray):
            raise TypeError(f"copy_to_host() copies into NumPy arrays, got {type(ary).__name__}")
        self._check_compatible(ary)
        if ary.nbytes and self.layout != "A" and ary.strides == self.strides:
            self.device.native.copy_from_device(_bytes_of(ary), self._address)
        else:
            ary[...] = self._read().reshape(ary.shape)
        return ary

    def copy_to_device(self, ary, stream=0):
        """Copies `ary`, a host or device array of the same shape and dtype, into this one."""
        if not isinstance(ary, DeviceNDArray) and not hasattr(ary, "__cuda_array_interface__"):
            ary = np.asanyarray(ary)
        elif not isinstance(ary, DeviceNDArray):
            from cudasim.cuda.array_functions import as_cuda_array

            ary = as_cuda_array(ary)
        if ary.size == 0:
            return
        check_contiguous(self)
        if isinstance(ary, DeviceNDArray):
            check_contiguous(ary)
            self._check_compatible(ary)
            if self.device is ary.device and self.layout != "A":
                self.device.native.copy_within_device(self._address, ary._address, self.nbytes)
                return
            ary = ary._read()
        else:
            ary = np.array(
                ary, order="F" if self.layout == "F" else "C", subok=True, copy=None if _LAZY else False
            )
            self._check_compatible(ary)
        self._write(ary.reshape(self.shape))

    def _check_compatible(self, other):
        if other.dtype != self.dtype:
            raise TypeError(f"incompatible dtype: {self.dtype} vs. {other.dtype}")
        if _squeezed(self.shape, self.shape) != _squeezed(other.shape, other.shape):
            raise ValueError(f"incompatible shape: {self.shape} vs. {tuple(other.shape)}")
        if self.size and _squeezed(self.shape, self.strides) != _squeezed(other.shape, other.strides):
            raise ValueError(
                f"incompatible strides: {self.strides} vs. {tuple(other.strides)}; both arrays must have the same "
                "layout"
            )

    def _write(self, host):
        """Copies a host array that broadcasts to this one's shape."""
        if not self.size:
            return
        native = self.device.native
        if self.layout != "A":
            if host.shape != self.shape or host.strides != self.strides or host.dtype != self.dtype:
                ordered = np.empty(self.shape, self.dtype, order=self.layout)
                ordered[...] = host
                host = ordered
            native.copy_to_device(self._address, _bytes_of(host))
            return
        extent, view = self._host_extent()
        native.copy_from_device(extent, self._lowest_address())
        view[...] = host
        native.copy_to_device(self._lowest_address(), extent)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a device array becomes a host array by a copy; copy=False cannot be had")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    # -- views --------------------------------------------------------------------------------------------

    def _view(self, shape, strides, address, dtype=None, stream=0):
        return DeviceNDArray(
            shape,
            strides,
            self.dtype if dtype is None else dtype,
            stream or self.stream,
            self._allocation,
            address=address,
            device=self.device,
            foreign=self.foreign,
        )

    def _select(self, index):
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
        return self._view(tuple(shape), tuple(strides), address)

    def __getitem__(self, index):
        view = self._select(index)
        return view._read()[()] if view.ndim == 0 else view

    def getitem(self, item, stream=0):
        """self[item]"""
        return self[item]

    def __setitem__(self, index, value):
        from cudasim.cuda.array_functions import as_device_or_contiguous

        target = self._select(index)
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
        if isinstance(value, DeviceNDArray):
            value = value._read()
        target._write(value.astype(self.dtype, copy=False))

    def setitem(self, key, value, stream=0):
        """self[key] = value"""
        self[key] = value

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def reshape(self, *newshape, order="C"):
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
            strides = contiguous_strides(shape, itemsize, order)
        else:
            strides = reshaped_strides(self.shape, self.strides, shape, itemsize, order)
        if strides is None:
            raise NotImplementedError(
                f"reshape would require copy: shape {self.shape} with strides {self.strides} to {shape}; make a "
                "contiguous copy first"
            )
        return self._view(shape, strides, self._address)

    def ravel(self, order="C", stream=0):
        """The same memory in one dimension; the array must be contiguous in that order."""
        if order not in ("C", "F", "A"):
            raise ValueError(f"order not C|F|A: {order!r}")
        fits = {"C": self.is_c_contiguous(), "F": self.is_f_contiguous()}
        if not (fits["C"] or fits["F"] if order == "A" else fits[order]):
            raise NotImplementedError(f"ravel on non-contiguous array (layout {self.layout}, order {order})")
        return self._view((self.size,), (self.dtype.itemsize,), self._address, stream=stream)

    def squeeze(self, axis=None, stream=0):
        """The same memory without axes of extent 1: all of them, or those named."""
        axes = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = {range(self.ndim)[number] for number in axes}
        if axis is not None and any(self.shape[number] != 1 for number in axes):
            raise ValueError(
                f"cannot squeeze out an axis of an extent other than 1: shape {self.shape}, axis {axis}"
            )
        kept = [number for number in range(self.ndim) if number not in axes or self.shape[number] != 1]
        shape, strides = (tuple(values[number] for number in kept) for values in (self.shape, self.strides))
        return self._view(shape, strides, self._address, stream=stream)

    def view(self, dtype):
        """The same memory as elements of another dtype."""
        dtype = np.dtype(dtype)
        if dtype.itemsize == self.dtype.itemsize:
            return self._view(self.shape, self.strides, self._address, dtype)
        if not self.shape or self.layout != "C":
            raise ValueError(
                f"To change to a dtype of a different size ({self.dtype} to {dtype}), the array must be C-contiguous "
                "and have a dimension"
            )
        last, rest = divmod(self.shape[-1] * self.dtype.itemsize, dtype.itemsize or 1)
        if rest or not dtype.itemsize:
            raise ValueError(
                f"a view of {self.dtype} as {dtype}: the last axis does not hold a multiple of {dtype.itemsize} bytes"
            )
        shape = (*self.shape[:-1], last)
        return self._view(shape, contiguous_strides(shape, dtype.itemsize, "C"), self._address, dtype)

    def transpose(self, axes=None):
        """A new array with rows and columns exchanged. As in numba.cuda: a copy, of two dimensions only."""
        if axes and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes is not None and set(axes) != {0, 1}:
            raise ValueError(f"invalid axes list {axes!r}")
        result = DeviceNDArray(self.shape[::-1], None, self.dtype, self.stream, poison=False)
        result._write(self._read().T)
        return result

    @property
    def T(self):  # noqa: N802 - NumPy's name
        return self.transpose()

    def split(self, section, stream=0):
        """Views of `section` elements each, the last one shorter if need be."""
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        if self.strides[0] != self.dtype.itemsize:
            raise ValueError("only support unit stride")
        for begin in range(0, self.size, section):
            yield self[begin : begin + section]


#: NumPy 2 copies "if needed" with copy=None, NumPy 1 with copy=False.
_LAZY = int(np.__version__.partition(".")[0]) >= 2


def _squeezed(shape, values):
    """`values` of the axes whose extent is not 1."""
    return tuple(value for extent, value in zip(shape, values) if extent != 1)


def _bytes_of(host):
    """The array's memory as something with the buffer protocol (datetimes and some others have none)."""
    if host.dtype.kind in "biufc":
        return host
    return host.reshape(-1, order="A").view(np.uint8) if host.size else host


def check_contiguous(array):
    """Only contiguous arrays are copied to the device as a whole (as with numba.cuda); axes along which an array
    repeats itself (stride 0) do not count."""
    core = [(extent, stride) for extent, stride in zip(array.shape, array.strides) if stride != 0]
    shape, strides = tuple(extent for extent, _ in core), tuple(stride for _, stride in core)
    if array.size and layout_of(shape, strides, array.dtype.itemsize) == "A":
        raise not_contiguous(array)


def not_contiguous(array):
    return ValueError(
        f"the array with shape {tuple(array.shape)} and strides {tuple(array.strides)} is not contiguous, and "
        "only contiguous arrays can be copied to the device; pass np.ascontiguousarray(a), and "
        "copy the result back if the kernel writes to it"
    )
