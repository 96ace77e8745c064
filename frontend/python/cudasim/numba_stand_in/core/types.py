"""numba.core.types: cudasim's type objects."""

from cudasim.type_system import value_types
from cudasim.types import *  # noqa: F401,F403
from cudasim.types import ALIASES, Array, EnumMember, NamedTuple, Record, Tuple, UniTuple  # noqa: F401

globals().update({name: getattr(value_types, name) for name in value_types.PUBLIC})
