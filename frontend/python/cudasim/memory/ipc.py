"""IPC handles: device memory for other processes of this machine (Numba documentation, "Sharing CUDA Memory").

handle = d_array.get_ipc_handle()          # in one process; pickle it, send it
with handle as d_array: …                  # in another one
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native
from cudasim.device.current import context_of, current_context
from cudasim.device.device import Device
from cudasim.device.driver_binding import CUipcMemHandle
from cudasim.memory import leaks
from cudasim.memory.device_array import DeviceNDArray
from cudasim.memory.device_contents import register_ipc_handles
from cudasim.memory.device_memory import device_to_device
from cudasim.memory.memory_calls import calls
from cudasim.type_system.array_layout import element_count, shape_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class IpcHandle:
    """A handle of device memory, for another process to open.

    :param base: keeps the memory, in the process that has it; None elsewhere
    :param handle: CUipcMemHandle of the allocation
    :param size: bytes of the memory
    :param source_info: which device it is on (Device.get_device_identity())
    :param offset: bytes from the start of the allocation to the memory
    """

    def __init__(
        self,
        base: Any,
        handle: CUipcMemHandle,
        size: int,
        source_info: dict[str, int] | None = None,
        offset: int = 0,
    ) -> None:
        self.base, self.handle, self.size = base, handle, size
        self.source_info, self.offset = source_info, offset
        self._opened: int | None = None  # the address of the allocation here; 0 when the memory was copied

    def _source_device(self):
        if self.source_info is None:
            raise RuntimeError(
                "IPC handle doesn't have source info: it does not say which device its memory is on"
            )
        return Device.from_identity(self.source_info)

    def can_access_peer(self, context: Any) -> bool:
        """Whether the context's device can use the memory where it is."""
        device = self._source_device()
        return device == context.device or context.can_access_peer(device.id)

    def _check_closed(self):
        # A forked child has the very object; the memory is another process's there.
        if self.base is not None and _native.ipc_process(bytes(self.handle)) == os.getpid():
            raise ValueError("opening IpcHandle from original process; use the array that it was made from")
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened")

    def open_direct(self, context: Any) -> Any:
        """The memory itself, as a MemoryPointer of the context."""
        self._check_closed()
        memory = context.open_ipc_handle(self.handle, self.offset + self.size)
        self._opened = int(memory.device_pointer)
        leaks.taken(self._opened, "IpcHandle.open", self.size, "close", by_program=True)
        return memory.view(self.offset)

    def open_staged(self, context: Any) -> Any:
        """A copy of the memory, for a device that cannot use it where it is."""
        self._check_closed()
        source = context_of(self._source_device())
        with source:
            memory = source.open_ipc_handle(self.handle, self.offset + self.size)
            copy = context.memalloc(self.size)
            device_to_device(copy, memory.view(self.offset), self.size)
            calls.cuIpcCloseMemHandle(memory.device_pointer)
        self._opened = 0
        return copy

    def open(self, context: Any) -> Any:
        """The memory, or a copy where the context's device cannot use it."""
        if self.source_info is None or self.can_access_peer(context):
            return self.open_direct(context)
        return self.open_staged(context)

    def open_array(self, context: Any, shape: tuple[int, ...], dtype: Any, strides: Any = None) -> Any:
        """The memory as a device array."""
        return DeviceNDArray(shape, strides, np.dtype(dtype), gpu_data=self.open(context))

    def close(self) -> None:
        """Ends the use of the memory here; arrays over it cannot be used any more."""
        if self._opened is None:
            raise ValueError("IpcHandle not opened")
        opened, self._opened = self._opened, None
        if opened:
            calls.cuIpcCloseMemHandle(opened)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return IpcHandle._rebuild, (bytes(self.handle), self.size, self.source_info, self.offset)

    @classmethod
    def _rebuild(cls, content, size, source_info, offset):
        return cls(None, CUipcMemHandle(content), size, source_info, offset)


class IpcArrayHandle:
    """A handle of a device array, for another process to open; also a context manager there."""

    def __init__(self, ipc_handle: IpcHandle, array_desc: dict[str, Any]) -> None:
        self._ipc_handle, self._array_desc = ipc_handle, array_desc

    def open(self) -> Any:
        """The array, over the memory of the process that has it."""
        return DeviceNDArray(gpu_data=self._ipc_handle.open(current_context()), **self._array_desc)

    def close(self) -> None:
        """Ends the use of the array here."""
        self._ipc_handle.close()

    def __enter__(self) -> Any:
        return self.open()

    def __exit__(self, *error: object) -> None:
        self.close()


@contextlib.contextmanager
def open_ipc_array(
    handle: bytes, shape: Any, dtype: Any, strides: Any = None, offset: int = 0
) -> Iterator[Any]:
    """A context manager that opens the 64 bytes of a handle as an array (C-contiguous unless strides are given)."""
    dtype, shape = np.dtype(dtype), shape_tuple(shape)
    size = element_count(shape) * dtype.itemsize
    opened = IpcHandle(None, CUipcMemHandle(handle), size, offset=offset)
    array = opened.open_array(current_context(), shape, dtype, strides)
    try:
        yield array
    finally:
        opened.close()


register_ipc_handles(IpcArrayHandle)
