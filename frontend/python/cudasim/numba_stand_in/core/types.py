"""numba.core.types: cudasim's type objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.type_system import value_types
from cudasim.types import *  # noqa: F401,F403
from cudasim.types import ALIASES, Array, EnumMember, NamedTuple, Record, Tuple, UniTuple  # noqa: F401

if TYPE_CHECKING:
    from typing import Any

globals().update({name: getattr(value_types, name) for name in value_types.PUBLIC})


def __getattr__(name: str) -> Any:
    from cudasim.type_system import further_types  # few programs need them: not at the start

    if name in further_types.PUBLIC:
        return getattr(further_types, name)
    raise AttributeError(
        f"module 'numba.core.types' has no attribute {name!r}: cudasim has no such type (yet)"
    )
