"""The numba.cuda-compatible API, on simulated threads: `from cudasim import cuda`, or, with the switch on
(cudasim.switch), what `from numba import cuda` gives.

Only numba.cuda's names live here; what is cudasim's own is in cudasim.errors, .findings, .options, .types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim._cuda_errors import CudaSupportError
from cudasim.algorithms.reduction import Reduce
from cudasim.compile.intrinsics import TOP_LEVEL as _INTRINSICS
from cudasim.cuda import bf16, cg, cudadrv, fp16, libdevice
from cudasim.cuda.module_names import find as _find
from cudasim.driver.device_selection import (
    close,
    cuda_error,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_fp8_supported,
    is_supported_version,
    list_devices,
    require_context,
    reset,
    select_device,
    synchronize,
)
from cudasim.driver.profiler import profile_start, profile_stop, profiling
from cudasim.launch import python_mode as _python_mode_of_launches
from cudasim.launch.arguments import In, InOut, Out
from cudasim.launch.decorators import jit
from cudasim.launch.foreign_function import declare_device
from cudasim.memory.array_functions import (
    device_array,
    device_array_like,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from cudasim.memory.array_interface import as_cuda_array, from_cuda_array_interface, is_cuda_array
from cudasim.memory.ipc import IpcHandle, open_ipc_array
from cudasim.memory.memory_manager import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryInfo,
    set_memory_manager,
)
from cudasim.memory.memory_pointers import MappedMemory, MemoryPointer, PinnedMemory
from cudasim.streams.event import Event, event, event_elapsed_time
from cudasim.streams.stream import (
    Stream,
    default_stream,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
)

if TYPE_CHECKING:
    from typing import Any


def _python_mode():
    from cudasim import python_mode  # most programs run compiled kernels only

    return python_mode


_python_mode_of_launches.register(_python_mode)

reduce = Reduce
implementation = "cudasim"
HAS_NUMBA = True

globals().update(_INTRINSICS)

__all__ = [
    "BaseCUDAMemoryManager",
    "CudaSupportError",
    "Event",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "In",
    "InOut",
    "IpcHandle",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "Stream",
    "Out",
    "PinnedMemory",
    "Reduce",
    "as_cuda_array",
    "bf16",
    "cg",
    "close",
    "cuda_error",
    "cudadrv",
    "current_context",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "fp16",
    "from_cuda_array_interface",
    "get_current_device",
    "gpus",
    "guvectorize",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_fp8_supported",
    "is_supported_version",
    "jit",
    "legacy_default_stream",
    "libdevice",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "open_ipc_array",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "require_context",
    "reset",
    "select_device",
    "set_memory_manager",
    "stream",
    "synchronize",
    "to_device",
    "vectorize",
    *_INTRINSICS,
]


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else _find(name)
    if found is not None:
        return found
    raise AttributeError(f"cudasim has no cuda.{name} (yet); docs/differences.md lists what is there")
