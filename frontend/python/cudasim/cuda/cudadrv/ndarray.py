"""numba.cuda.cudadrv.ndarray's name."""

from cudasim.driver.device_selection import current_context
from cudasim.memory.device_memory import host_memory_size


def ndarray_device_allocate_data(ary):
    """New device memory as large as a host array."""
    return current_context().memalloc(host_memory_size(ary))
