"""numba.core.types: cudasim's type objects."""

from cudasim.types import *  # noqa: F401,F403
from cudasim.types import ALIASES, Array, EnumMember, NamedTuple, Record, Tuple, UniTuple  # noqa: F401

Boolean = Integer = Float = Number = __import__("cudasim.types", fromlist=["Number"]).Number
