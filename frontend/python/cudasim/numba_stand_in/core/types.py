"""numba.core.types: cudasim's type objects."""

from cudasim import _value_types
from cudasim.types import *  # noqa: F401,F403
from cudasim.types import ALIASES, Array, EnumMember, NamedTuple, Record, Tuple, UniTuple  # noqa: F401

globals().update({name: getattr(_value_types, name) for name in _value_types.PUBLIC})
