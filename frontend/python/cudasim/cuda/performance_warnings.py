"""Numba's warnings about slow programs: small grids, and host arrays that every launch copies. cudasim._numba_config says when."""

from cudasim import errors
from cudasim._numba_config import warns_about
from cudasim._tracebacks import warn_at_users_line

#: numba.cuda's: fewer blocks leave most GPUs idle.
_FEWEST_BLOCKS = 128


def warn_of_small_grid(grid):
    """For a launch configuration that leaves a GPU idle."""
    blocks = grid[0] * grid[1] * grid[2]
    if blocks < _FEWEST_BLOCKS and warns_about("CUDA_LOW_OCCUPANCY_WARNINGS"):
        warn_at_users_line(
            f"Grid size {blocks} will likely result in GPU under-utilization due to low occupancy.",
            errors.NumbaPerformanceWarning,
        )


def warn_of_host_copy():
    """For a host array as an argument of a launch."""
    if warns_about("CUDA_WARN_ON_IMPLICIT_COPY"):
        warn_at_users_line(
            "Host array used in CUDA kernel will incur copy overhead to/from device.", errors.NumbaPerformanceWarning
        )
