"""`@cuda.jit(extensions=[...])`: objects that look at a launch's arguments first and may give others for them.

Each has a method `prepare_args(ty, val, stream, retr) → (ty, val)`; the last one is asked first, for the elements of
tuples too. What it appends to `retr` is called when the kernel has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import types
from cudasim.launch.added_arguments import AddedArgument, AddedArray
from cudasim.type_system import added_types
from cudasim.type_system.registered_types import registered_type
from cudasim.type_system.typeof import added_array, typeof

if TYPE_CHECKING:
    from typing import Any


def prepared(extensions: Any, args: Any, stream: Any) -> tuple[list[Any], list[Any]]:
    """(the arguments that the kernel gets, what to call after the launch)"""
    afterwards: list[Any] = []
    return [_prepared(extensions, value, stream, afterwards) for value in args], afterwards


def _prepared(extensions, value, stream, afterwards):
    given, kind = value, _type_of(value)
    added = None if kind is None else added_types.of_numba_type(kind)
    for extension in reversed(extensions):
        kind, value = extension.prepare_args(kind, value, stream=stream, retr=afterwards)
    if added is not None:
        return AddedArgument(added, given, value)
    if (array := added_array(kind)) is not None:
        return AddedArray(array, value)
    if isinstance(value, (bool, int, float, complex)) and type(value) is not type(given):
        return _as_declared(kind, value)
    if not isinstance(value, tuple):
        return value
    elements = [_prepared(extensions, element, stream, afterwards) for element in value]
    made: Any = type(value)
    return made._make(elements) if hasattr(value, "_fields") else tuple(elements)


def _as_declared(kind, value):
    """A number that stands for an object, with the type that it is passed as."""
    declared = types.as_type(kind)
    return declared.dtype.type(value) if isinstance(declared, types.Scalar) else value


def _type_of(value):
    """Numba's type object where Numba is loaded, else ours; for what kernels do not take what a program has registered
    (typeof_impl), or None: an extension may know it."""
    try:
        return types.public(typeof(value))
    except (TypeError, ValueError, NotImplementedError):
        return registered_type(value)
