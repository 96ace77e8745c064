"""typeof_impl: the types that programs say their own objects have, numba's register where numba has been imported, else one of
ours. What becomes of such objects at a launch is the business of @cuda.jit's extensions (argument_extensions.py)."""

from __future__ import annotations

import enum
import functools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class Purpose(enum.Enum):
    """What the type is for; cudasim gives the same for both."""

    argument = 1
    constant = 2


@functools.singledispatch
def typeof_impl(value: Any, context: Any) -> None:
    """The type of a value; `@typeof_impl.register(Class)` decorates the function that says it. None: not known."""
    return None


def registered_type(value: Any) -> Any:
    """What a program has registered for the class of a value, or None."""
    found = rule_of_program(type(value))
    return None if found is None else found(value, _context(sys.modules.get("numba.core.typing.typeof")))


def rule_of_program(kind: type) -> Any:
    """The function that a program has registered for values of a class, or None."""
    implementations = [typeof_impl]
    numbas = sys.modules.get("numba.core.typing.typeof")
    if numbas is not None:
        implementations.append(numbas.typeof_impl)
    for known in implementations:
        found = known.dispatch(kind)
        if found.__module__.partition(".")[0] not in ("numba", "cudasim"):
            return found
    return None


def classes_of_programs() -> set[type]:
    """The classes of whose objects programs have said what types they have."""
    numbas = sys.modules.get("numba.core.typing.typeof")
    known = [typeof_impl] if numbas is None else [typeof_impl, numbas.typeof_impl]
    return {
        kind
        for each in known
        for kind, found in each.registry.items()
        if found.__module__.partition(".")[0] not in ("numba", "cudasim")
        and kind.__module__.partition(".")[0] not in ("builtins", "numpy", "numba", "cudasim")
    }


def _context(numbas):
    return Purpose.argument if numbas is None else numbas._TypeofContext(numbas.Purpose.argument)
