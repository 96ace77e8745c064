"""Device and host memory as numba.cuda.cudadrv.driver's functions see it: addresses, extents, copies.

Objects are device memory when they say so (`__cuda_memory__`): device arrays, memory pointers. Host memory is
anything with the buffer protocol, or an address.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native
from cudasim.device.current import context_of, current_device
from cudasim.device.device import by_context
from cudasim.device.driver_binding import CUdeviceptr, CUpointer_attribute
from cudasim.memory.memory_calls import calls
from cudasim.memory.memory_pointers import MemoryPointer, OwnedPointer
from cudasim.streams.stream import checked_stream
from cudasim.type_system.array_layout import extent_in_bytes

if TYPE_CHECKING:
    from typing import Any

    from cudasim.device.device import Device


def device_of(address: int) -> Device:
    """The simulated device whose memory holds the address; the current one when none does."""
    current = current_device()
    if not 0 <= address < 1 << 64:
        return current
    return by_context.get(_native.owner_of(current.driver_context, address).id, current)


def is_device_memory(obj: Any) -> bool:
    """Whether the object says that it is device memory."""
    return bool(getattr(obj, "__cuda_memory__", False))


def require_device_memory(obj: Any) -> None:
    """:raises Exception: for what is not device memory"""
    if not is_device_memory(obj):
        raise Exception(f"Not a CUDA memory object: {type(obj).__name__}")


def device_ctypes_pointer(obj: Any) -> Any:
    """The address of device memory as a ctypes object; a null pointer for None."""
    if obj is None:
        return ctypes.c_void_p(0)
    require_device_memory(obj)
    return obj.device_ctypes_pointer


def device_pointer(obj: Any) -> int:
    """The address of device memory as an integer."""
    return device_ctypes_pointer(obj).value


def device_extents(devmem: Any) -> tuple[int, ...]:
    """Where the allocation that holds the memory begins and ends."""
    base, size = calls.cuMemGetAddressRange(device_pointer(devmem))
    return int(base), int(base) + size


def device_memory_size(devmem: Any) -> int:
    """Bytes of device memory: of the object, or of its allocation where the object does not say."""
    size = getattr(devmem, "_cuda_memsize_", None)
    if size is None:
        begin, end = device_extents(devmem)
        size = end - begin
        try:
            devmem._cuda_memsize_ = size
        except AttributeError:
            pass
    return size


def memory_size_from_info(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Bytes that an array spans."""
    if len(shape) != len(strides):
        raise AssertionError(f"# dim mismatch: shape {shape}, strides {strides}")
    return extent_in_bytes(shape, strides, itemsize)


def _as_array(obj):
    """Host memory as an ndarray over it."""
    if isinstance(obj, np.ndarray):
        return obj
    if isinstance(obj, np.void):
        return np.frombuffer(obj, obj.dtype)
    try:
        return np.frombuffer(obj, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"{type(obj).__name__} is not host memory that can be copied: {error}") from None


def host_memory_extents(obj: Any) -> tuple[int, ...]:
    """Where host memory begins and ends."""
    array = _as_array(obj)
    first = array.__array_interface__["data"][0]
    low = first + sum(
        min(0, stride * (count - 1)) for count, stride in zip(array.shape, array.strides) if count
    )
    return low, low + extent_in_bytes(array.shape, array.strides, array.itemsize)


def host_memory_size(obj: Any) -> int:
    """Bytes that host memory spans."""
    begin, end = host_memory_extents(obj)
    return end - begin


def host_pointer(obj: np.ndarray, readonly: bool = False) -> int:
    """The address of host memory; of memory that may be written unless `readonly`."""
    if isinstance(obj, int):
        return obj
    array = _as_array(obj)
    if not (readonly or array.flags.writeable or isinstance(obj, np.void)):
        raise ValueError("the host memory is read-only, and the copy would write to it")
    return array.__array_interface__["data"][0]


def device_memory_depends(devmem: Any, *objs: Any) -> None:
    """Makes the objects live as long as the device memory."""
    depends = getattr(devmem, "_depends_", None)
    if depends is None:
        depends = devmem._depends_ = []
    depends.extend(objs)


def _copy(at_once, in_stream, stream, *arguments):
    """The asynchronous call where a stream is named, else the one that waits."""
    stream = checked_stream(stream)
    if stream is None:
        at_once(*arguments)
    else:
        in_stream(*arguments, stream)


def host_to_device(dst: Any, src: np.ndarray, size: int, stream: Any = 0) -> None:
    """Copies bytes from host memory to device memory."""
    _copy(
        calls.cuMemcpyHtoD,
        calls.cuMemcpyHtoDAsync,
        stream,
        device_pointer(dst),
        host_pointer(src, True),
        size,
    )


def device_to_host(dst: np.ndarray, src: Any, size: int, stream: Any = 0) -> None:
    """Copies bytes from device memory to host memory."""
    _copy(calls.cuMemcpyDtoH, calls.cuMemcpyDtoHAsync, stream, host_pointer(dst), device_pointer(src), size)


def device_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copies bytes within or between devices."""
    _copy(calls.cuMemcpyDtoD, calls.cuMemcpyDtoDAsync, stream, device_pointer(dst), device_pointer(src), size)


def device_memset(dst: Any, val: int, size: int, stream: Any = 0) -> None:
    """Fills bytes of device memory."""
    _copy(calls.cuMemsetD8, calls.cuMemsetD8Async, stream, device_pointer(dst), val, size)


def get_devptr_for_active_ctx(ptr: Any) -> Any:
    """The address by which the current device uses memory: the same for all."""
    if not ptr:
        return CUdeviceptr(0)
    return calls.cuPointerGetAttribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, ptr)


def pointer_to(address: int, size: int, owner: Any) -> Any:
    """A MemoryPointer to a part of what `owner` keeps."""
    context = context_of(device_of(address))
    if isinstance(owner, (MemoryPointer, OwnedPointer)) and owner.size:
        start = address - int(owner)
        if 0 <= start and start + size <= owner.size:
            return owner if size == owner.size else owner.view(start, start + size)
    return MemoryPointer(context, address, size, owner)
