"""numba.cuda.cudadrv.runtime's names."""

from cudasim.driver.runtime import Runtime, get_version, runtime  # noqa: F401
