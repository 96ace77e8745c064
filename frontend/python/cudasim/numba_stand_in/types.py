"""numba.types."""

from numba.core.types import *  # noqa: F401,F403
from numba.core.types import Array, Tuple, UniTuple  # noqa: F401
