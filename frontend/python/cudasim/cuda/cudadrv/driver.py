"""numba.cuda.cudadrv.driver's names that scripts import: the error classes, and memory queries."""

from cudasim._cuda_errors import CudaAPIError, CudaDriverError, CudaSupportError, LinkerError  # noqa: F401
from cudasim.cuda.context import Context, MemoryInfo  # noqa: F401
from cudasim.cuda.device import Device, devices  # noqa: F401
from cudasim.cuda.device_memory import MemoryPointer, device_memory_size, is_device_memory  # noqa: F401
from cudasim.cuda.stream import Event, Stream  # noqa: F401


class _Driver:
    """What scripts ask numba.cuda's driver object for."""

    is_available = True
    initialization_error = None

    def get_device_count(self):
        return len(devices())

    def get_device(self, devnum=0):
        return devices()[devnum]

    def list_devices(self):
        return list(devices())


driver = _Driver()
