"""Memory managers, one per context: numba.cuda's "External Memory Management" (EMM) plug-in interface, and the
manager that is used where no plug-in is set.

    cuda.set_memory_manager(MyManager)      before the first use of the device, or after cuda.close()
    NUMBA_CUDA_MEMORY_MANAGER=my_module     whose _numba_memory_manager is the class

A plug-in gets its memory where it likes, as long as it is the device's: from the simulated driver
(numba.cuda.cudadrv.driver.driver.cuMemAlloc and its like, memory_calls.py), as a rule a large piece that it shares out.
"""

from __future__ import annotations

import abc
import contextlib
import importlib
import weakref
from typing import TYPE_CHECKING, NamedTuple

from cudasim import _numba_config
from cudasim._cuda_errors import CudaAPIError
from cudasim.device import driver_binding as binding
from cudasim.device import host_visible
from cudasim.memory import leaks
from cudasim.memory.device_memory import device_extents
from cudasim.memory.ipc import IpcHandle
from cudasim.memory.memory_calls import calls
from cudasim.memory.memory_pointers import AutoFreePointer, ManagedMemory, MappedMemory, PinnedMemory
from cudasim.memory.pending_deallocations import UNKNOWN_SIZE, PendingDeallocations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np

    from cudasim.memory.ipc import IpcHandle
    from cudasim.memory.memory_pointers import (
        ManagedOwnedPointer,
        OwnedPointer,
    )

#: The version of the interface, which plug-ins must have.
INTERFACE_VERSION = 1


class MemoryInfo(NamedTuple):
    """Bytes of device memory."""

    free: int
    total: int


class BaseCUDAMemoryManager(abc.ABC):
    """What a memory manager has to provide. It is made with the keyword `context`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "context" not in kwargs:
            raise RuntimeError("Memory manager requires a context")
        self.context = kwargs.pop("context")

    @abc.abstractmethod
    def memalloc(self, size: Any) -> Any:
        """Memory on the device of the context. :rtype: MemoryPointer"""

    @abc.abstractmethod
    def memhostalloc(self, size: Any, mapped: Any, portable: Any, wc: Any) -> Any:
        """Page-locked host memory. :rtype: MappedMemory if it is mapped, else PinnedMemory"""

    @abc.abstractmethod
    def mempin(self, owner: Any, pointer: Any, size: Any, mapped: Any) -> Any:
        """Page-locks host memory that exists. :rtype: MappedMemory if it is mapped, else PinnedMemory"""

    @abc.abstractmethod
    def initialize(self) -> None:
        """Called before the context is used, each time it becomes current."""

    @abc.abstractmethod
    def get_ipc_handle(self, memory: Any) -> Any:
        """:rtype: IpcHandle"""

    @abc.abstractmethod
    def get_memory_info(self) -> Any:
        """Free and total bytes. :rtype: MemoryInfo; :raises NotImplementedError: where that cannot be said"""

    @abc.abstractmethod
    def reset(self) -> None:
        """Gives back all memory of the context."""

    @abc.abstractmethod
    def defer_cleanup(self) -> Any:
        """A context manager inside which no memory is given back."""

    @property
    @abc.abstractmethod
    def interface_version(self) -> int:
        """1"""


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """Everything for host memory (page-locked, mapped, managed): a plug-in that derives from it adds device memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.allocations: dict[Any, Any] = {}
        self.deallocations = PendingDeallocations()

    def _attempt_allocation(self, allocator):
        """allocator(), once more when memory ran out and something could be given back."""
        try:
            with leaks.expected_failures():
                return allocator()
        except CudaAPIError as error:
            if error.code != binding.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                leaks.failed(error)
                raise
        self.deallocations.clear()
        return allocator()

    def _keep(self, key, memory):
        self.allocations[key] = memory
        return memory.own()

    def memhostalloc(self, size: int, mapped: bool = False, portable: bool = False, wc: bool = False) -> Any:
        flags = 0
        for wanted, flag in (
            (mapped, binding.CU_MEMHOSTALLOC_DEVICEMAP),
            (portable, binding.CU_MEMHOSTALLOC_PORTABLE),
            (wc, binding.CU_MEMHOSTALLOC_WRITECOMBINED),
        ):
            flags |= flag if wanted else 0
        pointer = self._attempt_allocation(lambda: calls.cuMemHostAlloc(size, flags))
        context = weakref.proxy(self.context)
        if not mapped:
            finalizer = _finalizer(self, calls.cuMemFreeHost, pointer, None, UNKNOWN_SIZE)
            return PinnedMemory(context, pointer, size, finalizer=finalizer)
        finalizer = _finalizer(self, calls.cuMemFreeHost, pointer, pointer, size)
        return self._keep(pointer, MappedMemory(context, pointer, size, finalizer=finalizer))

    def mempin(self, owner: np.ndarray, pointer: int, size: int, mapped: bool = False) -> Any:
        flags = binding.CU_MEMHOSTREGISTER_DEVICEMAP if mapped else 0
        self._attempt_allocation(lambda: calls.cuMemHostRegister(pointer, size, flags))
        context, allocations = weakref.proxy(self.context), self.allocations

        def unpin():
            # Unlocked at once and not queued: the same memory may be page-locked again right away.
            if mapped:
                allocations.pop(pointer, None)
            if host_visible.starting_at(pointer) is not None:  # else Context.memunpin() was faster
                calls.cuMemHostUnregister(pointer)

        if not mapped:
            return PinnedMemory(context, pointer, size, owner=owner, finalizer=unpin)
        return self._keep(pointer, MappedMemory(context, pointer, size, owner=owner, finalizer=unpin))

    def memallocmanaged(self, size: int, attach_global: bool) -> ManagedOwnedPointer:
        attach = binding.CUmemAttach_flags
        flags = attach.CU_MEM_ATTACH_GLOBAL if attach_global else attach.CU_MEM_ATTACH_HOST
        pointer = self._attempt_allocation(lambda: calls.cuMemAllocManaged(size, flags))
        finalizer = _finalizer(self, calls.cuMemFree, pointer, pointer, size)
        memory = ManagedMemory(weakref.proxy(self.context), pointer, size, finalizer=finalizer)
        return self._keep(pointer, memory)

    def reset(self) -> None:
        self.allocations.clear()
        self.deallocations.clear()

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        with self.deallocations.disable():
            yield


def _finalizer(manager, destructor, pointer, key, size):
    """What gives memory back: puts it into the queue. It must not keep the manager, which would keep the context."""
    allocations, deallocations = manager.allocations, manager.deallocations

    def give_back():
        if key is not None:
            allocations.pop(key, None)
        deallocations.add_item(destructor, pointer, size)

    return give_back


class GetIpcHandleMixin:
    """get_ipc_handle() for managers whose memory is the driver's."""

    context: Any

    def get_ipc_handle(self, memory: Any) -> IpcHandle:
        base, _ = device_extents(memory)
        return IpcHandle(
            memory,
            calls.cuIpcGetMemHandle(base),
            memory.size,
            self.context.device.get_device_identity(),
            offset=int(memory.device_pointer) - base,
        )


class NumbaCUDAMemoryManager(GetIpcHandleMixin, HostOnlyCUDAMemoryManager):
    """The manager that is used where no plug-in is set."""

    def initialize(self) -> None:
        if not self.deallocations.memory_capacity:
            self.deallocations.memory_capacity = self.get_memory_info().total

    def memalloc(self, size: int) -> OwnedPointer:
        return self.allocate(size, poison=True)

    def allocate(self, size: int, poison: bool) -> OwnedPointer:
        """:param poison: whether fresh memory shows that it is (rule V3); not where all of it is written at once"""
        device = self.context.device
        pointer = self._attempt_allocation(lambda: calls.allocate_on(device, size, poison))
        finalizer = _finalizer(self, device.free_memory, pointer, pointer, size)
        memory = AutoFreePointer(weakref.proxy(self.context), pointer, size, finalizer=finalizer)
        return self._keep(pointer, memory)

    def get_memory_info(self) -> MemoryInfo:
        return MemoryInfo(*self.context.device.native.memory_info())

    @property
    def interface_version(self) -> int:
        return INTERFACE_VERSION


_chosen: Any = None  # the class of managers that contexts get


def set_memory_manager(mm_plugin: type) -> None:
    """Makes new contexts use a plug-in, a class. Those that exist keep theirs until cuda.close().

    :raises RuntimeError: for a plug-in of another version of the interface
    """
    global _chosen
    version = mm_plugin(context=None).interface_version
    if version != INTERFACE_VERSION:
        raise RuntimeError(
            f"EMM Plugin interface has version {version} - version {INTERFACE_VERSION} required"
        )
    _chosen = mm_plugin


def manager_for(context: Any) -> Any:
    """A new manager of the class in force."""
    if _chosen is None:
        _choose()
    return _chosen(context=context)


def _choose():
    name = _numba_config.setting("CUDA_MEMORY_MANAGER")
    if name == "default":
        set_memory_manager(NumbaCUDAMemoryManager)
        return
    try:
        set_memory_manager(importlib.import_module(name)._numba_memory_manager)
    except Exception as error:
        raise RuntimeError(
            f"Failed to use memory manager from {name} (NUMBA_CUDA_MEMORY_MANAGER): a module with a class "
            "_numba_memory_manager is needed"
        ) from error
