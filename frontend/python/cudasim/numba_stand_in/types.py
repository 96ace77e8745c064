"""numba.types."""

from numba.core.types import *  # noqa: F401,F403
from numba.core.types import Array, EnumMember, NamedTuple, Record, Tuple, UniTuple  # noqa: F401
