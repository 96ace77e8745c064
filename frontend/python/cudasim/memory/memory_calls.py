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
import operator
import os
from typing import TYPE_CHECKING

import numpy as np

from cudasim._cuda_errors import CudaAPIError, driver_error
from cudasim.device import driver_binding as binding
from cudasim.device import host_visible
from cudasim.device.driver_binding import CUdeviceptr, address_of
from cudasim.device.host_visible import HostRange
from cudasim.reports.tracebacks import calling_frame

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.device.device import Device


def failure(call: str, code: Any, message: str) -> CudaAPIError:
    """The error of a driver's call. :param code: a CUresult, or its number"""
    return driver_error(call, binding.CUresult(code).name, message)


def checked_size(call: str, size: int) -> int:
    """A number of bytes that a call can be given.

    :raises CudaAPIError: 1 for those that no memory has
    :raises TypeError: for what is no integer
    """
    try:
        size = operator.index(size)
    except TypeError:
        raise TypeError(f"{call}: a size is a number of bytes, an integer; got {size!r}") from None
    if not 0 <= size < 1 << 63:
        raise failure(
            call, 1, f"{size} bytes: {'no memory is so large' if size > 0 else 'a size is 0 or more'}"
        )
    return size


def _current_device():
    from cudasim.device.current import current_device

    return current_device()


def _device_of(address):
    from cudasim.memory.device_memory import device_of

    return device_of(address)


def _label(what):
    """What memory reports call an allocation: where the user's code made it."""
    frame = calling_frame()
    if frame is None:
        return what
    return f"{what} made at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


_PAGE = 4096
_page_locked: dict[Any, Any] = {}  # address → the host buffer of cuMemHostAlloc without a mapping
_Reference = type(ctypes.byref(ctypes.c_int()))


def returns_or_stores(function: Callable[..., Any]) -> Callable[..., Any] | None:
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
        size = min(size, (1 << 64) - 1)
        return device.native.allocate_bare(size, _label("device array"), poison, False, "cuMemAlloc")

    @returns_or_stores
    def cuMemAlloc(self, size: int) -> CUdeviceptr:  # noqa: N802 - the driver's names
        return CUdeviceptr(self.allocate_on(_current_device(), size))

    def cuMemFree(self, pointer: Any) -> None:  # noqa: N802
        address = address_of(pointer)
        host_visible.forget(address)
        _device_of(address).native.free(address, "cuMemFree")

    @returns_or_stores
    def cuMemGetInfo(self) -> tuple[int, ...]:  # noqa: N802
        return tuple(_current_device().native.memory_info())

    @returns_or_stores
    def cuMemGetAddressRange(self, pointer: int) -> tuple[CUdeviceptr, int]:  # noqa: N802
        address = address_of(pointer)
        base, size = _device_of(address).native.address_range(address)
        return CUdeviceptr(base), size

    # -- memory of host and device ------------------------------------------------------------------------

    def _allocate_for_host(self, size, kind, call):
        device = _current_device()
        address = device.native.allocate_bare(max(size, 1), _label(f"{kind} array"), True, True, call)
        host_visible.register(HostRange(address, max(size, 1), kind, device))
        return address

    @returns_or_stores
    def cuMemAllocManaged(self, size: int, flags: Any = 1) -> CUdeviceptr:  # noqa: N802
        return CUdeviceptr(self._allocate_for_host(size, "managed", "cuMemAllocManaged"))

    @returns_or_stores
    def cuMemHostAlloc(self, size: int, flags: int = 0) -> int:  # noqa: N802
        if flags & binding.CU_MEMHOSTALLOC_DEVICEMAP:
            return self._allocate_for_host(size, "mapped", "cuMemHostAlloc")
        try:
            # Pages of its own, so that they can be protected (early_access.py).
            whole = np.empty((max(size, 1) // _PAGE + 2) * _PAGE, np.uint8)
            start = -whole.ctypes.data % _PAGE
            buffer = whole[start : start + max(size, 1)]
        except (MemoryError, ValueError):
            code = binding.CUresult.CUDA_ERROR_OUT_OF_MEMORY
            raise failure("cuMemHostAlloc", code, f"the host cannot give {size} bytes") from None
        address = buffer.ctypes.data
        _page_locked[address] = buffer
        host_visible.register(HostRange(address, buffer.size, "pinned", _current_device()))
        return address

    def cuMemFreeHost(self, pointer: int) -> None:  # noqa: N802
        address = address_of(pointer)
        known = host_visible.starting_at(address)
        if known is None or known.registered:
            code = binding.CUresult.CUDA_ERROR_INVALID_VALUE
            raise failure("cuMemFreeHost", code, f"no page-locked memory was allocated at {address:#x}")
        host_visible.forget(address)
        if _page_locked.pop(address, None) is None:
            known.device.native.free(address, "cuMemFreeHost")

    def cuMemHostRegister(self, pointer: int, size: int, flags: int = 0) -> None:  # noqa: N802
        address, device = address_of(pointer), _current_device()
        if size <= 0:
            code = binding.CUresult.CUDA_ERROR_INVALID_VALUE
            raise failure("cuMemHostRegister", code, f"there are no {size} bytes of memory to page-lock")
        if host_visible.overlapping(address, size):
            code = binding.CUresult.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
            raise failure("cuMemHostRegister", code, "part of this memory is page-locked already")
        mapped = bool(flags & binding.CU_MEMHOSTREGISTER_DEVICEMAP)
        if mapped:
            device.native.adopt(address, size, _label("mapped array"), "cuMemHostRegister")
        host_visible.register(HostRange(address, size, "mapped" if mapped else "pinned", device, True))

    def cuMemHostUnregister(self, pointer: int) -> None:  # noqa: N802
        address = address_of(pointer)
        known = host_visible.starting_at(address)
        if known is None or not known.registered:
            code = binding.CUresult.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
            raise failure("cuMemHostUnregister", code, f"no memory was page-locked at {address:#x}")
        host_visible.forget(address)
        if known.kind == "mapped":
            known.device.native.free(address, "cuMemHostUnregister")

    @returns_or_stores
    def cuMemHostGetDevicePointer(self, pointer: int, flags: int = 0) -> CUdeviceptr:  # noqa: N802
        """The same address: host and device share one address space."""
        address = address_of(pointer)
        known = host_visible.find(address)
        if known is None or known.kind == "pinned":
            code = binding.CUresult.CUDA_ERROR_INVALID_VALUE
            what = (
                "this is no page-locked memory" if known is None else "this page-locked memory is not mapped"
            )
            raise failure("cuMemHostGetDevicePointer", code, what)
        return CUdeviceptr(address)

    def cuPointerGetAttribute(self, attribute: Any, pointer: Any) -> Any:  # noqa: N802
        address, wanted = address_of(pointer), binding.CUpointer_attribute(attribute)
        known, device = host_visible.find(address), _device_of(address)
        if known is None and not device.native.contains(address, 1):
            code = binding.CUresult.CUDA_ERROR_INVALID_VALUE
            raise failure("cuPointerGetAttribute", code, f"no memory of CUDA's is at {address:#x}")
        names = binding.CUpointer_attribute
        if wanted == names.CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            host = known is not None and known.kind != "managed"
            kinds = binding.CUmemorytype
            return int(kinds.CU_MEMORYTYPE_HOST if host else kinds.CU_MEMORYTYPE_DEVICE)
        if wanted == names.CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return int(known is not None and known.kind == "managed")
        if wanted == names.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return (known.device if known is not None else device).id
        return CUdeviceptr(address)

    # -- copies -------------------------------------------------------------------------------------------

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> None:  # noqa: N802
        address, size = address_of(target), checked_size("cuMemcpyHtoD", size)
        if size:
            _device_of(address).native.copy_to_device(address, _host_bytes(address_of(source), size))

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> None:  # noqa: N802
        address, size = address_of(source), checked_size("cuMemcpyDtoH", size)
        if size:
            _device_of(address).native.copy_from_device(_host_bytes(address_of(target), size), address)

    def cuMemcpyDtoD(self, target: int, source: int, size: int) -> None:  # noqa: N802
        to, start = address_of(target), address_of(source)
        size = checked_size("cuMemcpyDtoD", size)
        if not size:
            return
        device = _device_of(to)
        if _device_of(start) is device:
            device.native.copy_within_device(to, start, size)
            return
        staging = np.empty(size, np.uint8)
        _device_of(start).native.copy_from_device(staging, start)
        device.native.copy_to_device(to, staging)

    def cuMemsetD8(self, target: int, value: int, size: int) -> None:  # noqa: N802
        address, size = address_of(target), checked_size("cuMemsetD8", size)
        if size:
            _device_of(address).native.fill(address, value & 0xFF, size)

    def cuMemcpyHtoDAsync(self, target: Any, source: Any, size: Any, stream: Any) -> None:  # noqa: N802
        _enqueue(stream, target, lambda: self.cuMemcpyHtoD(target, source, size), host=source)

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: Any) -> None:  # noqa: N802
        _enqueue(stream, source, lambda: self.cuMemcpyDtoH(target, source, size), host=target)

    def cuMemcpyDtoDAsync(self, target: Any, source: Any, size: int, stream: Any) -> None:  # noqa: N802
        _enqueue(stream, target, lambda: self.cuMemcpyDtoD(target, source, size))

    def cuMemsetD8Async(self, target: int, value: int, size: int, stream: Any) -> None:  # noqa: N802
        _enqueue(stream, target, lambda: self.cuMemsetD8(target, value, size))

    # -- between processes --------------------------------------------------------------------------------

    def cuIpcGetMemHandle(self, pointer: int) -> binding.CUipcMemHandle:  # noqa: N802
        from cudasim.memory import ipc_memory

        address = address_of(pointer)
        if host_visible.find(address) is not None:
            code = binding.CUresult.CUDA_ERROR_INVALID_VALUE
            raise failure(
                "cuIpcGetMemHandle", code, "mapped and managed memory cannot be shared; use a device array"
            )
        return ipc_memory.export(_device_of(address), address)

    def cuIpcOpenMemHandle(self, handle: Any, flags: int = 1) -> Any:  # noqa: N802
        from cudasim.memory import ipc_memory

        return CUdeviceptr(ipc_memory.open_handle(_current_device(), handle))

    def cuIpcCloseMemHandle(self, pointer: Any) -> None:  # noqa: N802
        from cudasim.memory import ipc_memory

        ipc_memory.close(address_of(pointer))


def _enqueue(stream, pointer, work, host=None):
    """Does the work when its turn in the stream (a Stream or a handle) has come; copies from and to pageable host
    memory at once."""
    from cudasim.streams import stream_work
    from cudasim.streams.stream import Stream, checked_stream, key_of

    if isinstance(stream, int) and stream:
        stream = Stream(stream, external=True)
    pageable = host is not None and host_visible.find(address_of(host)) is None
    stream_work.submit(key_of(checked_stream(stream), _device_of(address_of(pointer))), work, pageable)


def _host_bytes(address, size):
    return (ctypes.c_char * size).from_address(address)


calls = MemoryCalls()
