"""numba.core.config: the values that scripts read or set."""

from cudasim._numba_config import values as _values

globals().update(_values())
