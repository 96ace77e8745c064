"""numba.cuda.kernels.reduction's names."""

from cudasim.algorithms.reduction import Reduce  # noqa: F401
