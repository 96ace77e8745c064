"""numba.cuda.cudadrv.driver's names that scripts import: the driver, error classes, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim._cuda_errors import (  # noqa: F401
    CudaAPIError,
    CudaDriverError,
    CudaSupportError,
    DeadMemoryError,
    LinkerError,
)
from cudasim.cuda.cudadrv import drvapi  # noqa: F401
from cudasim.cuda.cudadrv.enums import CU_STREAM_DEFAULT, RESULTS  # noqa: F401
from cudasim.cuda.cudadrv.linkable_code import LTOIR, Fatbin, LinkableCode, Object  # noqa: F401
from cudasim.device import device as _device
from cudasim.device import driver_binding as binding  # noqa: F401
from cudasim.device.device import Device  # noqa: F401
from cudasim.driver.context import Context  # noqa: F401
from cudasim.driver.driver_object import Driver, driver, get_version  # noqa: F401
from cudasim.driver.function import Function, launch_kernel  # noqa: F401
from cudasim.driver.function import Function as CudaPythonFunction  # noqa: F401
from cudasim.driver.function import FunctionAttributes as FuncAttr  # noqa: F401
from cudasim.driver.linker import Linker  # noqa: F401
from cudasim.driver.linker import Linker as _Linker  # noqa: F401
from cudasim.driver.module import Module, load_module_image  # noqa: F401
from cudasim.driver.module import Module as CudaPythonModule  # noqa: F401
from cudasim.driver.profiler import profile_start, profile_stop, profiling  # noqa: F401
from cudasim.memory.device_memory import (  # noqa: F401
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
from cudasim.memory.ipc import IpcHandle  # noqa: F401
from cudasim.memory.memory_manager import (  # noqa: F401
    INTERFACE_VERSION as _SUPPORTED_EMM_INTERFACE_VERSION,
)
from cudasim.memory.memory_manager import (  # noqa: F401
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryInfo,  # noqa: F401
    NumbaCUDAMemoryManager,
    set_memory_manager,
)
from cudasim.memory.memory_pointers import (  # noqa: F401
    AutoFreePointer,
    ManagedMemory,
    ManagedOwnedPointer,
    MappedMemory,
    MappedOwnedPointer,
    MemoryPointer,
    OwnedPointer,
    PinnedMemory,
)
from cudasim.memory.pending_deallocations import UNKNOWN_SIZE as _SizeNotSet  # noqa: F401, N812
from cudasim.memory.pending_deallocations import PendingDeallocations as _PendingDeallocs  # noqa: F401
from cudasim.streams.event import Event, event_elapsed_time  # noqa: F401
from cudasim.streams.stream import Stream  # noqa: F401

if TYPE_CHECKING:
    from typing import Any

#: number of a driver's answer -> its name
ERROR_MAP = {code: name for name, code in RESULTS.items()}
MIN_REQUIRED_CC = (3, 5)
#: Whether NVIDIA's Python bindings of the driver are in use; `numba -s` asks.
USE_NV_BINDING = False


def __getattr__(name: str) -> Any:
    if name == "devices":
        return _device.devices
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
