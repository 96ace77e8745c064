"""numba.cuda.decorators."""
# ruff: noqa: F401

from cudasim.launch.decorators import (
    jit,
    warn_of_combinations,
)
