"""numba.cuda.kernels: what numba.cuda does with kernels of its own."""

from cudasim.cuda.kernels import reduction  # noqa: F401 - there without being imported, as in numba-cuda
