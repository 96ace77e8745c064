"""The simulated driver's memory calls, by their names in the CUDA Driver API: `calls.cuMemAlloc(size)`.

They are what memory managers, numba.cuda.cudadrv.driver's functions and memory plug-ins are made of, there as
`numba.cuda.cudadrv.driver.driver.cuMemAlloc`. Results are returned, as by NVIDIA's Python bindings; where the C
function has output parameters, ctypes references to them may stand first (driver.cuMemAlloc(byref(pointer), size)),
as in Numba's own bindings. Failures raise CudaAPIError with the driver's code. Asynchronous calls are done when they
return (rule V7).
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.device import driver_binding as binding
from cudasim.device.current import current_device
from cudasim.device.driver_binding import CUdeviceptr, address_of
from cudasim.findings import SourceLocation
from cudasim.memory import leaks, unwritten
from cudasim.reports.tracebacks import calling_frame
from cudasim.streams import stream_work
from cudasim.streams.stream import Stream, checked_stream, key_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.device.device import Device


def _current_device():
    return current_device()


def _current():
    """The driver's context that is current."""
    return _current_device().with_engine()


def _device_of(address):
    from cudasim.memory.device_memory import device_of  # device_memory imports this module

    return device_of(address)


def _as_64_bits(size):
    return min(max(size, 0), (1 << 64) - 1)


def _label(what):
    """What memory reports call an allocation: where the user's code made it."""
    frame = calling_frame()
    if frame is None:
        return what
    code, line = frame.f_code, frame.f_lineno or 0
    label = f"{what} made at {os.path.basename(code.co_filename)}:{line}"
    unwritten.places[label] = SourceLocation(code.co_filename, code.co_name, line, 0)
    return label


_Reference = type(ctypes.byref(ctypes.c_int()))


def returns_or_stores(function: Callable[..., Any]) -> Callable[..., Any]:
    """Results go into ctypes references that stand before the arguments, or are returned where none do."""

    @functools.wraps(function)
    def call(self, *arguments):
        references = 0
        while references < len(arguments) and isinstance(arguments[references], _Reference):
            references += 1
        result = function(self, *arguments[references:])
        if not references:
            return result
        for reference, value in zip(arguments, result if isinstance(result, tuple) else (result,)):
            reference._obj.value = value
        return None

    return call


class MemoryCalls:
    """The calls. Addresses are integers or ctypes pointers."""

    # -- device memory ------------------------------------------------------------------------------------

    def allocate_on(self, device: Device, size: int, poison: bool = True) -> int:
        """cuMemAlloc on a given device."""
        if size < 0:
            raise ValueError(f"memory has a size of 0 or more, got {size}")
        return _native.mem_alloc(device.with_engine(), _as_64_bits(size), _label("device array"), poison)

    @returns_or_stores
    def cuMemAlloc(self, size: int) -> CUdeviceptr:  # noqa: N802 - the driver's names
        pointer = self.allocate_on(_current_device(), size)
        leaks.taken(pointer, "cuMemAlloc", size, "cuMemFree")
        return CUdeviceptr(pointer)

    def cuMemFree(self, pointer: Any) -> None:  # noqa: N802
        _native.mem_free(_current(), address_of(pointer))
        leaks.given_back(address_of(pointer))

    @returns_or_stores
    def cuMemGetInfo(self) -> tuple[int, ...]:  # noqa: N802
        return tuple(_current_device().native.memory_info())

    @returns_or_stores
    def cuMemGetAddressRange(self, pointer: int) -> tuple[CUdeviceptr, int]:  # noqa: N802
        base, size = _native.mem_get_address_range(_current(), address_of(pointer))
        return CUdeviceptr(base), size

    # -- memory of host and device ------------------------------------------------------------------------

    @returns_or_stores
    def cuMemAllocManaged(self, size: int, flags: Any = 1) -> CUdeviceptr:  # noqa: N802
        stream_work.look_for_races()
        pointer = _native.mem_alloc_managed(_current(), _as_64_bits(size), _label("managed array"))
        leaks.taken(pointer, "cuMemAllocManaged", size, "cuMemFree")
        return CUdeviceptr(pointer)

    @returns_or_stores
    def cuMemHostAlloc(self, size: int, flags: int = 0) -> int:  # noqa: N802
        mapped = bool(flags & binding.CU_MEMHOSTALLOC_DEVICEMAP)
        label = _label("mapped array") if mapped else ""
        stream_work.look_for_races()
        pointer = _native.mem_host_alloc(_current(), _as_64_bits(size), mapped, label)
        leaks.taken(pointer, "cuMemHostAlloc", size, "cuMemFreeHost")
        return pointer

    def cuMemFreeHost(self, pointer: int) -> None:  # noqa: N802
        _native.mem_free_host(address_of(pointer))
        leaks.given_back(address_of(pointer))

    def cuMemHostRegister(self, pointer: int, size: int, flags: int = 0) -> None:  # noqa: N802
        mapped = bool(flags & binding.CU_MEMHOSTREGISTER_DEVICEMAP)
        label = _label("mapped array") if mapped else ""
        stream_work.look_for_races()
        _native.mem_host_register(_current(), address_of(pointer), _as_64_bits(size), mapped, label)

    def cuMemHostUnregister(self, pointer: int) -> None:  # noqa: N802
        _native.mem_host_unregister(address_of(pointer))

    @returns_or_stores
    def cuMemHostGetDevicePointer(self, pointer: int, flags: int = 0) -> CUdeviceptr:  # noqa: N802
        """The same address: host and device share one address space."""
        return CUdeviceptr(_native.mem_host_get_device_pointer(address_of(pointer)))

    def cuPointerGetAttribute(self, attribute: Any, pointer: Any) -> Any:  # noqa: N802
        address, wanted = address_of(pointer), binding.CUpointer_attribute(attribute)
        host, managed, device = _native.pointer_attributes(_current(), address)
        names = binding.CUpointer_attribute
        if wanted == names.CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            kinds = binding.CUmemorytype
            return int(kinds.CU_MEMORYTYPE_HOST if host else kinds.CU_MEMORYTYPE_DEVICE)
        if wanted == names.CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return int(managed)
        if wanted == names.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return device
        return CUdeviceptr(address)

    # -- copies -------------------------------------------------------------------------------------------

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> None:  # noqa: N802
        _native.memcpy_htod(_current(), address_of(target), address_of(source), size)

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> None:  # noqa: N802
        _native.memcpy_dtoh(_current(), address_of(target), address_of(source), size)

    def cuMemcpyDtoD(self, target: int, source: int, size: int) -> None:  # noqa: N802
        _native.memcpy_dtod(_current(), address_of(target), address_of(source), size)

    def cuMemsetD8(self, target: int, value: int, size: int) -> None:  # noqa: N802
        _native.memset_d8(_current(), address_of(target), value & 0xFF, size)

    def cuMemcpyHtoDAsync(self, target: Any, source: Any, size: Any, stream: Any) -> None:  # noqa: N802
        to, host = address_of(target), address_of(source)
        _native.memcpy_htod_async(_current(), to, host, size, *_in_stream(stream, to))

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: Any) -> None:  # noqa: N802
        host, start = address_of(target), address_of(source)
        _native.memcpy_dtoh_async(_current(), host, start, size, *_in_stream(stream, start))

    def cuMemcpyDtoDAsync(self, target: Any, source: Any, size: int, stream: Any) -> None:  # noqa: N802
        to = address_of(target)
        _native.memcpy_dtod_async(_current(), to, address_of(source), size, *_in_stream(stream, to))

    def cuMemsetD8Async(self, target: int, value: int, size: int, stream: Any) -> None:  # noqa: N802
        to = address_of(target)
        _native.memset_d8_async(_current(), to, value & 0xFF, size, *_in_stream(stream, to))

    # -- between processes --------------------------------------------------------------------------------

    def cuIpcGetMemHandle(self, pointer: int) -> binding.CUipcMemHandle:  # noqa: N802
        return binding.CUipcMemHandle(_native.ipc_get_mem_handle(_current(), address_of(pointer)))

    def cuIpcOpenMemHandle(self, handle: Any, flags: int = 1) -> Any:  # noqa: N802
        pointer = _native.ipc_open_mem_handle(_current(), bytes(handle))
        leaks.taken(pointer, "cuIpcOpenMemHandle", 0, "cuIpcCloseMemHandle")
        return CUdeviceptr(pointer)

    def cuIpcCloseMemHandle(self, pointer: Any) -> None:  # noqa: N802
        _native.ipc_close_mem_handle(address_of(pointer))
        leaks.given_back(address_of(pointer))


def _in_stream(stream, address):
    """What the driver's asynchronous calls take of a stream (a Stream or a handle): its key, and the user's line.

    :param address: of the device memory, on whose device the default stream is meant
    """
    if isinstance(stream, int) and stream:
        stream = Stream(stream, external=True)
    return key_of(checked_stream(stream), _device_of(address)), stream_work.place_to_enqueue()


calls = MemoryCalls()
