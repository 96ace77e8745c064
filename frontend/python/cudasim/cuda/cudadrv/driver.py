"""numba.cuda.cudadrv.driver's names that scripts import: the driver, error classes, memory."""

from cudasim._cuda_errors import CudaAPIError, CudaDriverError, CudaSupportError, LinkerError  # noqa: F401
from cudasim.cuda import driver_binding as binding  # noqa: F401
from cudasim.cuda.context import Context, MemoryInfo, context_of  # noqa: F401
from cudasim.cuda.cudadrv import drvapi  # noqa: F401
from cudasim.cuda.cudadrv.linkable_code import LTOIR, Fatbin, LinkableCode, Object  # noqa: F401
from cudasim.cuda.cudadrv.runtime import runtime as _runtime
from cudasim.cuda.device import Device, devices  # noqa: F401
from cudasim.cuda.device_memory import (  # noqa: F401
    device_ctypes_pointer,
    device_extents,
    device_memory_depends,
    device_memory_size,
    device_memset,
    device_pointer,
    device_to_device,
    device_to_host,
    get_devptr_for_active_ctx,
    host_memory_extents,
    host_memory_size,
    host_pointer,
    host_to_device,
    is_device_memory,
    memory_size_from_info,
    require_device_memory,
)
from cudasim.cuda.driver_calls import MemoryCalls
from cudasim.cuda.ipc import IpcHandle  # noqa: F401
from cudasim.cuda.memory_manager import (  # noqa: F401
    INTERFACE_VERSION as _SUPPORTED_EMM_INTERFACE_VERSION,
)
from cudasim.cuda.memory_manager import (  # noqa: F401
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    NumbaCUDAMemoryManager,
    set_memory_manager,
)
from cudasim.cuda.memory_pointers import (  # noqa: F401
    AutoFreePointer,
    ManagedMemory,
    ManagedOwnedPointer,
    MappedMemory,
    MappedOwnedPointer,
    MemoryPointer,
    OwnedPointer,
    PinnedMemory,
)
from cudasim.cuda.pending_deallocations import UNKNOWN_SIZE as _SizeNotSet  # noqa: F401, N812
from cudasim.cuda.pending_deallocations import PendingDeallocations as _PendingDeallocs  # noqa: F401
from cudasim.cuda.stream import (  # noqa: F401
    Event,
    Stream,
    event_elapsed_time,
    profile_start,
    profile_stop,
    profiling,
)


class DeadMemoryError(RuntimeError):
    """Numba's name; nothing raises it."""


class Driver(MemoryCalls):
    """numba.cuda's driver object: the devices, and the driver's memory calls."""

    is_available = True
    initialization_error = None

    def get_device_count(self):
        return len(devices())

    def get_device(self, devnum=0):
        return devices()[devnum]

    def list_devices(self):
        return list(devices())

    def get_version(self):
        """The newest CUDA that the driver knows, as (major, minor)."""
        return get_version()

    def reset(self):
        """Gives back the memory of all devices."""
        for device in devices():
            context_of(device).reset()


def get_version():
    """The newest CUDA that the driver knows, as (major, minor)."""
    return tuple(_runtime.get_version())


driver = Driver()
