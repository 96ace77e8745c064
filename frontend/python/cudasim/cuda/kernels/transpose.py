"""numba.cuda.kernels.transpose's names."""

from cudasim.algorithms.transpose import transpose  # noqa: F401
