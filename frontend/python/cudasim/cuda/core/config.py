"""numba.cuda.core.config where there is no numba."""

from cudasim._numba_config import values as _values

globals().update(_values())
