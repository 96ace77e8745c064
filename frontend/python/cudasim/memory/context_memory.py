"""The memory of a context: its memory manager, and what is still to be given back."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._cuda_errors import driver_error
from cudasim.memory.device_contents import invalidate_arrays_of
from cudasim.memory.memory_calls import calls
from cudasim.memory.memory_manager import NumbaCUDAMemoryManager, manager_for
from cudasim.memory.memory_pointers import MemoryPointer
from cudasim.memory.pending_deallocations import PendingDeallocations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np

    from cudasim.device.device import Device
    from cudasim.device.driver_binding import CUipcMemHandle
    from cudasim.memory.memory_manager import MemoryInfo
    from cudasim.memory.memory_pointers import (
        ManagedOwnedPointer,
        OwnedPointer,
    )

_lock = threading.RLock()


class ContextMemory:
    """The part of a Context that has to do with memory. `device` is the context's."""

    device: Device

    _memory_manager = None
    _deallocations = None

    @property
    def memory_manager(self) -> Any:
        """The manager of the class in force when it was first asked for (memory_manager.py)."""
        if self._memory_manager is None:
            with _lock:
                if self._memory_manager is None:
                    manager = manager_for(self)
                    manager.initialize()
                    self._memory_manager = manager
        return self._memory_manager

    @property
    def deallocations(self) -> PendingDeallocations:
        """What is to be freed that is not memory."""
        if self._deallocations is None:
            self._deallocations = PendingDeallocations(self.device.native.memory_info()[1])
        return self._deallocations

    def prepare_for_use(self) -> None:
        """Makes the memory manager ready."""
        self.memory_manager.initialize()

    def reset(self) -> None:
        """Gives back all memory of the context; arrays in it cannot be used any more."""
        if self._memory_manager is not None:
            self._memory_manager.reset()
            invalidate_arrays_of(self.device)
        if self._deallocations is not None:
            self._deallocations.clear()

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of device memory."""
        return self.memory_manager.get_memory_info()

    def memalloc(self, bytesize: int) -> OwnedPointer:
        """New device memory, a MemoryPointer."""
        return self.memory_manager.memalloc(bytesize)

    @property
    def has_plug_in(self) -> bool:
        """Whether the memory is a plug-in's, which need not be the device's."""
        return type(self.memory_manager) is not NumbaCUDAMemoryManager

    def allocate_for_array(self, bytesize: int, poison: bool) -> Any:
        """memalloc() for an array; poison=False where all of it is written at once."""
        if self.has_plug_in:
            return self.memory_manager.memalloc(bytesize)
        return self.memory_manager.allocate(bytesize, poison)

    def memory_for_copy(self, bytesize: Any, label: Any, poison: Any) -> tuple[Any, ...]:
        """Memory for the length of one launch: what keeps it, and its address. Where no plug-in is set, it does
        not come from a memory manager and is freed at once."""
        if not self.has_plug_in:
            memory = self.device.native.allocate(bytesize, label, poison)
            return memory, memory.address
        memory = self.memory_manager.memalloc(bytesize)
        address = int(memory.device_pointer)
        if not self.device.native.contains(address, bytesize):
            raise driver_error(
                "cuLaunchKernel",
                "CUDA_ERROR_ILLEGAL_ADDRESS",
                f"the memory manager gave {bytesize} bytes at {address:#x} for '{label}', which are not in device memory that is allocated",
            )
        return memory, address

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> ManagedOwnedPointer:
        """New memory of host and device, with the buffer protocol."""
        return self.memory_manager.memallocmanaged(bytesize, attach_global)

    def memhostalloc(
        self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False
    ) -> Any:
        """New page-locked host memory, with the buffer protocol; mapped: kernels use it too."""
        return self.memory_manager.memhostalloc(bytesize, mapped, portable, wc)

    def mempin(self, owner: np.ndarray, pointer: int, size: int, mapped: bool = False) -> Any:
        """Page-locks host memory that exists, until nothing refers to what is returned."""
        return self.memory_manager.mempin(owner, pointer, size, mapped)

    def memunpin(self, pointer: int) -> None:
        """Ends what mempin() did to the memory at the address."""
        calls.cuMemHostUnregister(pointer)

    def get_ipc_handle(self, memory: Any) -> Any:
        """An IpcHandle of device memory."""
        return self.memory_manager.get_ipc_handle(memory)

    def open_ipc_handle(self, handle: CUipcMemHandle, size: int) -> Any:
        """Memory of another process, a MemoryPointer; cuIpcCloseMemHandle ends its use."""
        address = _native.ipc_open_mem_handle(self.device.with_engine(), bytes(handle))
        return MemoryPointer(weakref.proxy(self), address, size)

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """No memory is given back inside."""
        with self.memory_manager.defer_cleanup(), self.deallocations.disable():
            yield
