"""What device arrays and device records have in common: memory of a simulated device, and copies of it.

Device memory is the engine's own arena; host code reaches it by copies only (rule E9). The memory comes from the
context's memory manager and goes back there when the last array (or view) on it is collected, also while a launch
runs (frontend/bindings/simulated_device.h).
What numba.cuda refuses (copies between different strides, transposing three axes) is refused here too.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cudasim import _native
from cudasim._cuda_errors import driver_error
from cudasim.device.current import context_of, current_context
from cudasim.device.host_visible import is_page_locked
from cudasim.memory.device_memory import device_of, pointer_to
from cudasim.memory.memory_pointers import MemoryPointer
from cudasim.memory.unwritten import check_copy
from cudasim.streams import early_access, stream_work
from cudasim.streams.stream import checked_stream, key_of
from cudasim.type_system.array_compatibility import check_array_compatibility, check_contiguous
from cudasim.type_system.array_layout import (
    contiguous_strides,
    element_count,
    extent_in_bytes,
    is_aligned,
    is_contiguous,
    layout_of,
    shape_tuple,
    strides_tuple,
)
from cudasim.type_system.registered_types import rule_of_program
from cudasim.type_system.typeof import array_type

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from cudasim.device.device import Device
    from cudasim.memory.device_array import DeviceNDArray
    from cudasim.memory.ipc import IpcArrayHandle
    from cudasim.type_system.container_types import Array


class DeviceNDArrayBase:
    """The base of all that is an array in device memory, host arrays that kernels use too (mapped, managed) included."""

    stream: Any
    gpu_data: Any
    shape: tuple[int, ...]
    ndim: int
    dtype: np.dtype[Any]
    transpose: Any
    _read: Any
    _write: Any

    __slots__ = ()

    __cuda_memory__ = True
    __cuda_ndarray__ = True

    def _default_stream(self, stream):
        return stream or self.stream

    def as_cuda_arg(self) -> Any:
        """The memory."""
        return self.gpu_data

    @property
    def T(self) -> DeviceContents:  # noqa: N802 - NumPy's name
        return self.transpose()


_make_ipc_handle: Callable[[Any, dict], Any]  # ipc.py registers it: register_ipc_handles()


def register_ipc_handles(make: Callable[[Any, dict], Any]) -> None:
    """:param make: (handle of the memory, shape, strides and dtype of the array) → what another process opens"""
    global _make_ipc_handle
    _make_ipc_handle = make


_as_device_array: Callable[
    [Any], DeviceContents
]  # array_interface.py registers it: register_foreign_arrays()


def register_foreign_arrays(view: Callable[[Any], DeviceContents]) -> None:
    """:param view: an object with __cuda_array_interface__ → a device array over its memory"""
    global _as_device_array
    _as_device_array = view


class DeviceContents(DeviceNDArrayBase):
    """An array of any shape in device memory."""

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
        "kernel_type",
        "parameters",
        "__weakref__",
        "__dict__",
    )

    __array_priority__ = 1000
    array_class: type[DeviceNDArray]  # what views are; device_array.py sets it
    kernel_type: Array | None

    def __init__(
        self,
        shape: Any,
        strides: Any,
        dtype: Any,
        stream: Any = 0,
        gpu_data: Any = None,
        *,
        address: int | None = None,
        device: Device | None = None,
        poison: bool = True,
        foreign: bool = False,
    ) -> None:
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
            gpu_data, address, device, foreign = self._new_memory(poison)
        else:
            foreign = foreign or address is None
            address = int(gpu_data.device_pointer) if address is None else address
        self.device = device_of(address) if device is None else device
        self._allocation, self._address, self.foreign = gpu_data, address, foreign
        # None for what a launch has to look at more closely (arguments.py): foreign and misaligned memory,
        # dtypes that no kernel takes, and records of which programs have said what they are.
        self.kernel_type = None
        told = dtype.names is not None and rule_of_program(type(self)) is not None
        if not foreign and not told and is_aligned(address, strides, dtype):
            self.kernel_type = array_type(dtype, self.ndim, self.layout)
        #: what a kernel gets: address, shape, strides in bytes
        self.parameters = (address, *shape, *strides)

    def _new_memory(self, poison):
        """Memory from the current context, the address of the first element, the device, and whether launches have to
        check the memory."""
        context = current_context()
        if not self.size or not self.dtype.itemsize:
            return MemoryPointer(context, 0, 0), 0, context.device, False
        memory = context.allocate_for_array(self.alloc_size, poison)
        below = sum(min(0, stride * (count - 1)) for count, stride in zip(self.shape, self.strides))
        return memory, int(memory.device_pointer) - below, context.device, context.has_plug_in

    # -- what it is ---------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def alloc_size(self) -> int:
        """Bytes of memory that the array spans."""
        return extent_in_bytes(self.shape, self.strides, self.dtype.itemsize)

    @property
    def gpu_data(self) -> Any:
        """The memory that the array lies in, from its first element on."""
        if not self.size:
            return MemoryPointer(context_of(self.device), 0, 0, self._allocation)
        return pointer_to(self._address, self.alloc_size, self._allocation)

    @property
    def device_ctypes_pointer(self) -> Any:
        return MemoryPointer(None, self._address if self.size else 0, 0).device_ctypes_pointer

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = {
            "shape": self.shape,
            "strides": None if self.is_c_contiguous() else self.strides,
            "data": (self._address if self.size else 0, False),
            "typestr": self.dtype.str,
            "stream": int(self.stream) or None,
            "version": 3,
        }
        if self.dtype.names is not None:
            interface["descr"] = self.dtype.descr
        return interface

    @property
    def _numba_type_(self):
        """What numba.typeof() gives: arrays that repeat themselves are of layout A."""
        from cudasim.type_system import numpy_support  # only for Numba's typeof

        return numpy_support.array_type(
            self.dtype, self.ndim, "A" if 0 in self.strides and self.size else self.layout
        )

    @property
    def flags(self) -> Any:
        return {"C_CONTIGUOUS": self.is_c_contiguous(), "F_CONTIGUOUS": self.is_f_contiguous()}

    def is_c_contiguous(self) -> bool:
        return self.layout == "C"

    def is_f_contiguous(self) -> bool:
        return is_contiguous(self.shape, self.strides, self.dtype.itemsize, "F")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shape={self.shape} dtype={self.dtype} layout={self.layout}>"

    def __copy__(self) -> DeviceContents:
        return self._view(self.shape, self.strides, self._address)

    def bind(self, stream: Any = 0) -> DeviceContents:
        """The same array with another default stream."""
        bound = self.__copy__()
        bound.stream = stream
        return bound

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a device array cannot be pickled: its memory belongs to this process; pickle d.copy_to_host(), or "
            "d.get_ipc_handle() to share the memory itself"
        )

    def get_ipc_handle(self) -> IpcArrayHandle:
        """A handle by which another process opens this array's memory (ipc.py)."""
        if any(stride < 0 for stride in self.strides):
            raise NotImplementedError(
                f"an array with negative strides {self.strides} cannot be shared; share the array that this is a view of"
            )
        handle = current_context().get_ipc_handle(self.gpu_data)
        return _make_ipc_handle(handle, {"shape": self.shape, "strides": self.strides, "dtype": self.dtype})

    def lies_in_device_memory(self) -> bool:
        """Whether all its elements lie in one live allocation."""
        return not self.size or self.device.native.contains(self._lowest_address(), self.alloc_size)

    def _lowest_address(self):
        return self._address + sum(
            min(0, stride * (extent - 1)) for extent, stride in zip(self.shape, self.strides)
        )

    # -- copies: all of an array's go through these three ----------------------------------------------------

    def _check_owner(self, call):
        """:raises CudaAPIError: 1 where somebody else's memory is not a simulated device's, saying whose it is"""
        if self.foreign and not self.lies_in_device_memory():
            raise driver_error(
                call,
                "CUDA_ERROR_INVALID_VALUE",
                f"the array ({self.alloc_size} bytes at address {self._address:#x}) is not in device memory that is allocated{origin(self)}",
            )

    def _copy_out(self, host, address, stream=0, check=False):
        """Copies from device memory to the host."""
        self._check_owner("cuMemcpyDtoH")

        def copy():
            if check:
                check_copy(self.device.driver_context, address, host.nbytes, self.dtype)
            _native.memcpy_dtoh_buffer(self.device.driver_context, host, address)

        self._in_stream(
            stream,
            copy,
            not is_page_locked(host),
            lambda place: early_access.watches_of([host], "a copy to it", place),
        )

    def _copy_in(self, address, host, stream=0):
        """Copies from the host to device memory."""
        self._check_owner("cuMemcpyHtoD")
        if stream_work.deferred() and not is_page_locked(host):
            host = host.copy(order="K")  # pageable memory is read when the copy is enqueued
        self._in_stream(
            stream,
            lambda: _native.memcpy_htod_buffer(self.device.driver_context, address, host),
            watch=lambda place: early_access.watches_of([host], "a copy from it", place, writes=True),
        )

    def _copy_within(self, address, source, size, stream=0):
        """Copies within the device."""
        self._check_owner("cuMemcpyDtoD")
        context = self.device.driver_context
        self._in_stream(stream, lambda: _native.memcpy_dtod(context, address, source, size))

    def _in_stream(self, stream, copy, synchronous=False, watch=None):
        """Runs copy() when its turn in the stream has come; without a stream now, after everything before it."""
        stream = checked_stream(self._default_stream(stream))
        stream_work.submit(key_of(stream, self.device), copy, synchronous or stream is None, watch)

    def _read(self, stream=0, check=False):
        """The elements as a new host array of the same strides.

        :param check: warns of those that nobody wrote, where they lie one behind the other
        """
        self._check_owner("cuMemcpyDtoH")  # before the host allocates as much
        if self.layout != "A":
            host = np.empty(self.shape, self.dtype, order="F" if self.layout == "F" else "C")
            if host.nbytes:
                self._copy_out(_bytes_of(host), self._address, stream, check)
            return host
        extent, view = self._host_extent()
        self._copy_out(extent, self._lowest_address(), stream)
        return view

    def _host_extent(self):
        """A host buffer as long as the memory that the array spans, and the array over that buffer."""
        extent = np.empty(self.alloc_size, np.uint8)
        view = np.ndarray(
            self.shape, self.dtype, extent, self._address - self._lowest_address(), self.strides
        )
        return extent, view

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Copies to the host: into `ary`, or into a new array, which is returned."""
        stream = self._default_stream(stream)
        if any(stride < 0 for stride in self.strides):
            raise NotImplementedError(
                f"D->H copy not implemented for negative strides: {self.strides}; copy the array that this is a "
                "view of, and reverse it on the host"
            )
        if ary is None:
            return self._read(stream, check=True)
        if not isinstance(ary, (np.ndarray, np.void)):
            raise TypeError(f"copy_to_host() copies into NumPy arrays, got {type(ary).__name__}")
        check_array_compatibility(self, ary)
        if not isinstance(ary, np.void) and ary.nbytes and self.layout != "A" and ary.strides == self.strides:
            self._copy_out(_bytes_of(ary), self._address, stream, check=True)
        elif isinstance(ary, np.ndarray):
            ary[...] = self._read(stream, check=True).reshape(ary.shape)
        else:
            record = self._read(stream, check=True)[()]
            for name in ary.dtype.names or ():
                ary[name] = record[name]
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copies `ary`, a host or device array of the same shape and dtype, into this one."""
        stream = self._default_stream(stream)
        if not isinstance(ary, DeviceContents):
            if hasattr(ary, "__cuda_array_interface__") and not isinstance(ary, np.ndarray):
                ary = _as_device_array(ary)
            else:
                ary = np.asarray(ary)
        if ary.size == 0:
            return
        check_contiguous(self)
        if isinstance(ary, DeviceContents):
            check_contiguous(ary)
            check_array_compatibility(self, ary)
            ary._check_owner("cuMemcpyDtoD")
            if self.device is ary.device and self.layout != "A":
                self._copy_within(self._address, ary._address, self.nbytes, stream)
                return
            ary = ary._read(stream)
        else:
            ary = np.array(ary, order="F" if self.layout == "F" else "C", copy=None if _LAZY else False)
            check_array_compatibility(self, ary)
        self._write(ary.reshape(self.shape), stream)

    def _write(self, host, stream=0):
        """Copies a host array that broadcasts to this one's shape."""
        if not self.nbytes:
            return
        if self.layout != "A":
            if host.shape != self.shape or host.strides != self.strides or host.dtype != self.dtype:
                ordered = np.empty(self.shape, self.dtype, order="F" if self.layout == "F" else "C")
                ordered[...] = host
                host = ordered
            self._copy_in(self._address, _bytes_of(host), stream)
            return
        extent, view = self._host_extent()
        self._copy_out(extent, self._lowest_address(), stream)
        view[...] = host
        self._copy_in(self._lowest_address(), extent, stream)

    # -- views --------------------------------------------------------------------------------------------

    def _view(self, shape, strides, address, dtype=None, stream=0):
        return self.array_class(
            shape,
            strides,
            self.dtype if dtype is None else dtype,
            stream or self.stream,
            self._allocation,
            address=address,
            device=self.device,
            foreign=self.foreign,
        )

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceNDArray:
        """The same memory without axes of extent 1: all of them, or those named."""
        axes = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        for number in axes:
            if not -self.ndim <= number < self.ndim:
                raise IndexError(f"axis {number} is out of bounds for an array of {self.ndim} dimensions")
        dropped = {range(self.ndim)[number] for number in axes}
        if axis is not None and any(self.shape[number] != 1 for number in dropped):
            raise ValueError(
                f"cannot squeeze out an axis of an extent other than 1: shape {self.shape}, axis {axis}"
            )
        kept = [number for number in range(self.ndim) if number not in dropped or self.shape[number] != 1]
        shape, strides = (tuple(values[number] for number in kept) for values in (self.shape, self.strides))
        return self._view(shape, strides, self._address, stream=stream)

    def view(self, dtype: Any) -> DeviceNDArray:
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
                f"When changing to a larger dtype, its size must be a divisor of the last axis' bytes: {self.dtype} "
                f"to {dtype}, shape {self.shape}"
            )
        shape = (*self.shape[:-1], last)
        return self._view(shape, contiguous_strides(shape, dtype.itemsize, "C"), self._address, dtype)

    def transpose(self, axes: tuple[int, ...] | None = None) -> DeviceContents:
        """A new array with rows and columns exchanged. As in numba.cuda it is a copy, and the array has to have
        two dimensions."""
        if axes and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes is not None and set(axes) != {0, 1}:
            raise ValueError(f"invalid axes list {axes!r}")
        result = self.array_class(self.shape[::-1], None, self.dtype, self.stream, poison=False)
        result._write(self._read().T)
        return result

    def split(self, section: int, stream: Any = 0) -> Iterator[Any]:
        """Views of `section` elements each, the last one shorter if need be."""
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        if self.strides[0] != self.dtype.itemsize:
            raise ValueError("only support unit stride")
        for index in range(math.ceil(self.size / section)):
            begin = index * section
            count = min(section, self.size - begin)
            yield self._view(
                (count,), self.strides, self._address + begin * self.dtype.itemsize, stream=stream
            )


#: How to get a host array from what other libraries keep on real GPUs.
_TO_HOST = {
    "cupy": "cupy.asnumpy(a)",
    "torch": "t.cpu().numpy()",
    "jax": "numpy.asarray(a)",
    "rmm": "buffer.copy_to_host()",
    "cudf": "column.to_numpy()",
}


def origin(array: DeviceContents) -> str:
    """Says where a foreign array came from, for messages about memory that is not the simulated device's."""
    owner = array._allocation
    if isinstance(owner, MemoryPointer) and not owner.size:
        return ": it was given back by cuda.close(), cuda.reset() or a reset of the context"
    library = type(owner).__module__.partition(".")[0]
    if library not in _TO_HOST:
        return ""
    return (
        f": a {library} array is in the memory of a real GPU, which simulated kernels cannot reach; pass "
        f"{_TO_HOST[library]} instead"
    )


def invalidate_arrays_of(device: Device) -> None:
    """The memory of all arrays of a device was given back: launches and copies that use one are errors from now on,
    also when somebody else has got the memory."""
    for each in gc.get_objects():
        if issubclass(type(each), DeviceContents) and getattr(each, "device", None) is device and each.size:
            each._allocation = MemoryPointer(None, 0, 0)
            each._address = 0
            each.parameters = (0, *each.shape, *each.strides)
            each.foreign, each.kernel_type = True, None


#: NumPy 2 copies "if needed" with copy=None, NumPy 1 with copy=False.
_LAZY = int(np.__version__.partition(".")[0]) >= 2


def _bytes_of(host):
    """The array's memory as something with the buffer protocol (datetimes and some others have none)."""
    if host.dtype.kind in "biufc" or not host.size:
        return host
    return np.asarray(host).reshape(-1, order="A").view(np.uint8)
