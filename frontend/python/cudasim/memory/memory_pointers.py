"""Pointers that own memory: what memory managers give out (numba.cuda's "External Memory Management").

MemoryPointer        the memory lives as long as the object; a finalizer, when there is one, gives it back
 └ AutoFreePointer   … or as long as something refers to it through own(): references are counted
    ├ MappedMemory   host memory that kernels use; also at `host_pointer`
    └ ManagedMemory  memory of both sides
PinnedMemory         page-locked host memory; kernels do not see it
OwnedPointer         one counted reference, with the attributes of what it refers to
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING

from cudasim._native import MemAlloc
from cudasim.device.driver_binding import CUdeviceptr, address_of
from cudasim.memory.memory_calls import calls

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy as np


class MemoryPointer:
    """A range of device memory of `size` bytes from `pointer` on (an integer or a ctypes pointer).

    :param owner: what keeps the memory, where that is not this object
    :param finalizer: called without arguments when the memory is to be given back
    """

    __cuda_memory__ = True

    def __init__(
        self,
        context: Any,
        pointer: Any,
        size: int,
        owner: Any = None,
        finalizer: Callable[..., Any] | None = None,
    ) -> None:
        self.context = context
        self.device_pointer = CUdeviceptr(address_of(pointer))
        self.handle: int = self.device_pointer
        self.size = size
        self._cuda_memsize_ = size
        self.is_managed = finalizer is not None
        self.refct = 1
        self._owner = owner
        if finalizer is not None:
            self._finalizer = weakref.finalize(self, finalizer)

    @property
    def owner(self) -> Any:
        return self if self._owner is None else self._owner

    def own(self) -> OwnedPointer:
        """A counted reference to this memory."""
        return OwnedPointer(weakref.proxy(self))

    def free(self) -> None:
        """Gives the memory back now, if a finalizer says how."""
        if not self.is_managed:
            return
        if not self._finalizer.alive:
            raise RuntimeError("Freeing dead memory: it was given back before")
        self._finalizer()

    @property
    def device_pointer_value(self) -> Any:
        return int(self.device_pointer) or None

    @property
    def device_ctypes_pointer(self) -> Any:
        return ctypes.c_size_t(self.device_pointer)

    def __int__(self) -> int:
        return int(self.device_pointer)

    def memset(self, byte: int, count: Any = None, stream: Any = 0) -> None:
        """Fills the first `count` bytes (all unless said)."""
        from cudasim.memory.device_memory import device_memset  # device_memory imports this module

        device_memset(self, byte, self.size if count is None else count, stream)

    def view(self, start: int, stop: int | None = None) -> MemoryPointer | OwnedPointer:
        """The part from byte `start` to byte `stop` (the end unless said)."""
        stop = self.size if stop is None else stop
        if stop < start:
            raise RuntimeError(f"size cannot be negative: bytes {start} to {stop}")
        if not self.device_pointer:
            if stop != start:
                raise RuntimeError("non-empty slice into empty slice")
            part = self
        elif not 0 <= start <= stop <= self.size:
            raise RuntimeError(f"bytes {start} to {stop} are not inside this memory of {self.size} bytes")
        else:
            part = MemoryPointer(self.context, self.device_pointer + start, stop - start, self.owner)
        if isinstance(self.owner, (MemoryPointer, OwnedPointer)):
            return OwnedPointer(weakref.proxy(self.owner), part)
        return part


class AutoFreePointer(MemoryPointer):
    """Memory that is given back when nothing refers to it through own() any more."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.refct -= 1


class MappedMemory(AutoFreePointer, MemAlloc):
    """Host memory, from `pointer` on, that is mapped into the device's. The buffer protocol shows it."""

    def __init__(
        self,
        context: Any,
        pointer: int,
        size: int,
        owner: np.ndarray | None = None,
        finalizer: Callable[..., Any] | None = None,
    ) -> None:
        self.owned = owner
        self.host_pointer = address_of(pointer)
        super().__init__(
            context, calls.cuMemHostGetDevicePointer(self.host_pointer, 0), size, finalizer=finalizer
        )
        self.handle = self.host_pointer
        self._bufptr_, self._buflen_ = self.host_pointer, size

    def own(self) -> MappedOwnedPointer:
        return MappedOwnedPointer(weakref.proxy(self))


class ManagedMemory(AutoFreePointer, MemAlloc):
    """Memory that host and device use. The buffer protocol shows it."""

    def __init__(
        self,
        context: Any,
        pointer: CUdeviceptr,
        size: int,
        owner: Any = None,
        finalizer: Callable[..., Any] | None = None,
    ) -> None:
        self.owned = owner
        super().__init__(context, pointer, size, finalizer=finalizer)
        self._bufptr_, self._buflen_ = int(self.device_pointer), size

    def own(self) -> ManagedOwnedPointer:
        return ManagedOwnedPointer(weakref.proxy(self))


class PinnedMemory(MemAlloc):
    """Page-locked host memory from `pointer` on. The buffer protocol shows it; kernels do not see it.

    :param owner: who has the memory, when it was not allocated for this object
    """

    def __init__(
        self,
        context: Any,
        pointer: int,
        size: int,
        owner: np.ndarray | None = None,
        finalizer: Callable[..., Any] | None = None,
    ) -> None:
        self.context = context
        self.owned = owner
        self.size = size
        self.host_pointer = self.handle = address_of(pointer)
        self.is_managed = finalizer is not None
        self._bufptr_, self._buflen_ = self.host_pointer, size
        if finalizer is not None:
            self._finalizer = weakref.finalize(self, finalizer)

    def own(self) -> Any:
        return self

    def free(self) -> None:
        """Gives the memory back, or unlocks it, now."""
        if self.is_managed and self._finalizer.alive:
            self._finalizer()


class OwnedPointer:
    """A counted reference to memory, or to a part of it (`view`). It has that one's attributes."""

    def __init__(self, memory: Any, view: MemoryPointer | None = None) -> None:
        self._mem = memory
        self._view = memory if view is None else view
        memory.refct += 1

    def __del__(self) -> None:
        try:
            memory = self._mem
            memory.refct -= 1
            if memory.refct == 0:
                memory.free()
        except (AttributeError, ReferenceError):  # not initialised; or the memory is gone, as after a reset
            pass

    def __getattr__(self, name: str) -> Any:
        if name in ("_mem", "_view"):
            raise AttributeError(name)
        return getattr(self._view, name)

    def __int__(self) -> int:
        return int(self._view.device_pointer)


class MappedOwnedPointer(OwnedPointer, MemAlloc):
    """A counted reference to mapped memory, with the buffer protocol."""


class ManagedOwnedPointer(OwnedPointer, MemAlloc):
    """A counted reference to managed memory, with the buffer protocol."""
