"""numba.cuda.cudadrv.ndarray's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.driver.device_selection import current_context
from cudasim.memory.device_memory import host_memory_size

if TYPE_CHECKING:
    from typing import Any


def ndarray_device_allocate_data(ary: Any) -> Any:
    """New device memory as large as a host array."""
    return current_context().memalloc(host_memory_size(ary))
