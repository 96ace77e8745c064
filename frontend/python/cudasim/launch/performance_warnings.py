"""Numba's warnings about slow programs: small grids, and host arrays that every launch copies. cudasim._numba_config says when."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from cudasim import errors
from cudasim._numba_config import warns_about
from cudasim.reports.tracebacks import calling_frame

if TYPE_CHECKING:
    from typing import Any

#: numba.cuda's: fewer blocks leave most GPUs idle.
_FEWEST_BLOCKS = 128


def warn_of_small_grid(grid: Any) -> None:
    """Warns of a launch configuration that leaves a GPU idle."""
    blocks = grid[0] * grid[1] * grid[2]
    if blocks < _FEWEST_BLOCKS and warns_about("CUDA_LOW_OCCUPANCY_WARNINGS"):
        _warn(f"Grid size {blocks} will likely result in GPU under-utilization due to low occupancy.")


def warn_of_host_copy() -> None:
    """Warns of a host array as an argument of a launch."""
    if warns_about("CUDA_WARN_ON_IMPLICIT_COPY"):
        _warn("Host array used in CUDA kernel will incur copy overhead to/from device.")


def _warn(message):
    """Numba's warning, at the user's launch."""
    frame = calling_frame() or sys._getframe()
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    warning = errors.NumbaPerformanceWarning(message)
    warnings.warn_explicit(
        warning, None, frame.f_code.co_filename, frame.f_lineno, names.get("__name__"), registry
    )
