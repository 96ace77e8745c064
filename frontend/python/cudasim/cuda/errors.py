"""numba.cuda.errors: errors of kernels and launches, and the check of a launch's dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import errors as _errors
from cudasim.launch.launch_configuration import normalise_dimensions, not_configured

if TYPE_CHECKING:
    from typing import Any

missing_launch_config_msg = str(not_configured("kernel_function"))


class KernelRuntimeError(RuntimeError):
    """An error in a kernel, with the thread and the block."""

    def __init__(self, msg: Any, tid: Any = None, ctaid: Any = None) -> None:
        self.msg, self.tid, self.ctaid = msg, tid, ctaid
        super().__init__(f"An exception was raised in thread={tid} block={ctaid}\n\t{msg}")


def normalize_kernel_dimensions(griddim: Any, blockdim: Any) -> tuple[Any, ...]:
    """Both as three integers. :raises ValueError, TypeError: for what cannot be launched"""
    if griddim is None or blockdim is None:
        raise ValueError(missing_launch_config_msg)
    return normalise_dimensions(griddim, "griddim"), normalise_dimensions(blockdim, "blockdim")


def __getattr__(name: str) -> Any:
    if name == "CudaLoweringError":
        name = "LoweringError"
    return getattr(_errors, name)
