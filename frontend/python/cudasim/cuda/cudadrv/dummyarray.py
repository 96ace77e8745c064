"""numba.cuda.cudadrv.dummyarray's names."""

from cudasim.memory.dummy_arrays import Array, Element, Extent  # noqa: F401
