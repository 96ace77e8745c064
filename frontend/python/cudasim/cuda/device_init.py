"""numba.cuda.device_init: the names of numba.cuda, where it keeps them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.launch.cuda_module import cuda_module

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(cuda_module(), name)
