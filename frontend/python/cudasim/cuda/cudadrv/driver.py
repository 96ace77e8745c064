"""numba.cuda.cudadrv.driver's names that scripts import: the error classes, and memory queries."""

from cudasim._cuda_errors import CudaAPIError, CudaDriverError, CudaSupportError, LinkerError  # noqa: F401
from cudasim.cuda.device import MemoryInfo, device_memory_size, is_device_memory  # noqa: F401
