"""Device memory that several processes use: what stands behind IPC handles.

The engine moves an exported allocation into a memory file of its process (simulator/memory/shared_pages.h). A handle says
which process, file and part; another process opens the file through /proc, maps the part and lets its own kernels
use exactly the bytes of the allocation. The bytes of a handle:

    | "cudasim" 0 | process u32 | descriptor u32 | inode u64 | file offset u64 | mapped bytes u64 | inside u64 | bytes u64 | 0 ... |
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import threading
from typing import TYPE_CHECKING

from cudasim._cuda_errors import driver_error
from cudasim.device.driver_binding import CUipcMemHandle

if TYPE_CHECKING:
    from typing import Any

    from cudasim.device.device import Device

_MAGIC = b"cudasim\0"
_FORMAT = struct.Struct("<8sIIQQQQQ8x")


class _Opened:
    """Memory of another process as it is mapped here."""

    def __init__(self, key, device, mapping, address):
        self.key, self.device, self.mapping, self.address = key, device, mapping, address
        self.count = 1


_lock = threading.RLock()
_by_key: dict[Any, Any] = {}  # (handle, device) → _Opened
_by_address: dict[Any, Any] = {}


def export(device: Device, address: int) -> CUipcMemHandle:
    """The handle of the allocation that starts at the address. :raises CudaAPIError: 1 for any other address"""
    shared = device.native.share(address)
    content = _FORMAT.pack(
        _MAGIC,
        os.getpid(),
        shared["file"],
        os.fstat(shared["file"]).st_ino,
        shared["offset"],
        shared["mapped_bytes"],
        shared["inside"],
        shared["bytes"],
    )
    return CUipcMemHandle(content)


def process_of(handle: CUipcMemHandle) -> int:
    """The number of the process that exported the handle."""
    return _parse(handle)[1]


def _parse(handle):
    fields = _FORMAT.unpack(bytes(handle))
    if fields[0] != _MAGIC:
        raise driver_error(
            "cuIpcOpenMemHandle",
            "CUDA_ERROR_INVALID_VALUE",
            "these 64 bytes are no handle of a simulated device's memory",
        )
    return fields


def open_handle(device: Device, handle: CUipcMemHandle) -> Any:
    """The address at which the memory of another process is here. Opening again counts."""
    _, process, *_ = _parse(handle)
    if process == os.getpid():
        raise driver_error(
            "cuIpcOpenMemHandle",
            "CUDA_ERROR_INVALID_CONTEXT",
            "the memory is this process's own; use the array itself",
        )
    key = (bytes(handle), device, os.getpid())
    with _lock:
        opened = _by_key.get(key)
        if opened is not None:
            opened.count += 1
            return opened.address
        return _open(key, device, handle)


def _open(key, device, handle):
    _, process, descriptor, inode, offset, mapped_bytes, inside, size = _parse(handle)
    try:
        file = os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
    except PermissionError as error:
        raise driver_error(
            "cuIpcOpenMemHandle",
            "CUDA_ERROR_INVALID_VALUE",
            f"process {process} may not be looked into: {error}",
        ) from None
    except OSError:
        raise driver_error(
            "cuIpcOpenMemHandle",
            "CUDA_ERROR_INVALID_VALUE",
            f"process {process}, which shared this memory, has ended (or /proc is not there)",
        ) from None
    try:
        if os.fstat(file).st_ino != inode:
            raise driver_error(
                "cuIpcOpenMemHandle",
                "CUDA_ERROR_INVALID_VALUE",
                f"process {process}, which shared this memory, has ended",
            )
        if _has_hole(file, offset, mapped_bytes):
            raise driver_error(
                "cuIpcOpenMemHandle", "CUDA_ERROR_INVALID_VALUE", f"process {process} has freed this memory"
            )
        mapping = mmap.mmap(
            file, mapped_bytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=offset
        )
    finally:
        os.close(file)
    start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    address = start + inside
    device.native.adopt(address, size, f"memory of process {process}", "cuIpcOpenMemHandle")
    _by_key[key] = _by_address[address] = _Opened(key, device, mapping, address)
    return address


def _has_hole(file, offset, size):
    """Whether a page is missing: freeing an allocation leaves a hole in the file."""
    try:
        return os.lseek(file, offset, os.SEEK_HOLE) < offset + size
    except OSError:
        return True


def close(address: Any) -> None:
    """Takes back one open_handle(). :raises CudaAPIError: 1 when nothing was opened at the address"""
    with _lock:
        opened = _by_address.get(address)
        if opened is None:
            raise driver_error(
                "cuIpcCloseMemHandle",
                "CUDA_ERROR_INVALID_VALUE",
                f"no memory of another process is open at {address:#x}",
            )
        opened.count -= 1
        if opened.count:
            return
        del _by_address[address], _by_key[opened.key]
        opened.device.native.free(address, "cuIpcCloseMemHandle")
        opened.mapping.close()
