"""What numba.cuda.extending.overload() and its kind implement, in Python mode: the implementation that compiled code has for
the values' types runs on the simulated thread. Types are those of the values: a plain int is a literal, as a constant is."""

from __future__ import annotations

import enum
import inspect
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, _pyfiber, errors, types
from cudasim.compile import overloads
from cudasim.python_mode.object_arrays import ArrayOfObjects
from cudasim.python_mode.values import kernel_types
from cudasim.type_system import added_types, value_types
from cudasim.type_system.array_layout import layout_of
from cudasim.type_system.registered_types import registered_type
from cudasim.type_system.typeof import array_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DTYPES = {kind: dtype for dtype, kind in kernel_types.items()}


def call_of(
    overloaded: overloads.Overloaded, function_of: Callable[..., Any], asks_objects: bool = True
) -> Any:
    """A callable for simulated threads.

    :param function_of: Python function → as simulated threads call it
    :param asks_objects: whether what nobody has implemented is left to the objects, where Python has a meaning for it
    """
    known = {}  # types of the arguments → function

    def call(*args, **keywords):
        kinds = tuple(map(type_of, args)), tuple((key, type_of(value)) for key, value in keywords.items())
        if kinds not in known:
            known[kinds] = function_of(_implementation(overloaded, *kinds, asks_objects))
        return known[kinds](*args, **keywords)

    return _native.FramelessMethod(call)


def builtin_of(name: str, otherwise: Any, function_of: Callable[..., Any]) -> Any:
    """A built-in function that programs have implemented for types of their own, as simulated threads call it; None where they have not.

    :param otherwise: what it is for other values
    :param function_of: as of call_of()
    """
    overloaded = overloads.of_operation(name)
    if not hasattr(overloaded, "implementation"):
        return None
    own = call_of(overloaded, function_of)

    def call(*args, **keywords):
        is_own = any(added_types.is_added(type_of(each)) for each in args)
        return (own if is_own else otherwise)(*args, **keywords)

    return _native.FramelessMethod(call)


def refusal_of(name: Any, what: str = "is code for LLVM") -> Any:
    """What stands for a function that only compiled kernels call.

    :param what: what it is or does
    """

    def call(*_, **__):
        raise NotImplementedError(
            f"{name}() {what}: only compiled kernels call it, not one that runs in Python mode (with a debugger in it)"
        )

    return _native.FramelessMethod(call)


def _implementation(overloaded, positional, named, asks_objects):
    given = list(types.public_types(positional)), {key: types.public(kind) for key, kind in named}
    found, _ = overloaded.implementation(*given)
    if found is None and asks_objects and inspect.isbuiltin(overloaded.function):
        return overloaded.function  # the objects of a program answer to operators and len() themselves
    if found is None:
        shown = ", ".join([*map(str, positional), *(f"{key}={kind}" for key, kind in named)])
        raise errors.TypingError(
            f"No implementation of function {overloaded.name} found for signature: {overloaded.name}({shown})"
        )
    return found


def type_of(value: Any) -> types.Type:
    """The type of a value that a kernel has in Python mode."""
    kind = type(value)
    if kind is _pyfiber.UnwrittenValue:
        return types.as_type(value.dtype)
    if kind in _DTYPES:
        return types.as_type(_DTYPES[kind])
    if value is None:
        return types.none
    if kind in (bool, int, str):
        return value_types.literal(value)
    if kind is float or kind is complex:
        return types.as_type(kind)
    if isinstance(value, _pyfiber.KernelArray):
        dtype, shape = value.dtype, value.shape
        known = array_type(dtype, len(shape), layout_of(shape, value.strides, dtype.itemsize))
        return types.CompilerType(f"array({dtype})") if known is None else known
    if isinstance(value, ArrayOfObjects):
        layout = layout_of(value.shape, value.strides, value.itemsize)
        return types.Array(value.dtype, value.ndim, layout)
    if isinstance(value, _pyfiber.KernelRecord):
        return types.as_type(value.__array__().dtype)
    if isinstance(value, tuple):
        return types.BaseTuple.from_types(map(type_of, value), kind if hasattr(value, "_fields") else None)
    if isinstance(value, enum.Enum):
        return types.member_type(kind, [types.as_type(type(one.value)) for one in kind])
    if isinstance(value, slice):
        return value_types.slice2_type if value.step is None else value_types.slice3_type
    if isinstance(value, np.generic):
        return types.as_type(value.dtype)
    added = added_types.of_numba_type(registered_type(value))
    if added is not None:
        return added
    named = (
        added_types.of_numba_type(value) if types.is_numba_type(value) else added_types.type_of_class(value)
    )
    if named is not None:
        return value_types.TypeRef(named)
    if isinstance(value, type):
        return value_types.NumberClass(value)
    return types.CompilerType(f"Function({getattr(value, '__name__', kind.__name__)})")


def add_attributes(names: set[Any] | set[str], function_of: Callable[..., Any]) -> None:
    """Gives the values of kernels the attributes and methods of these names that programs have added."""
    kinds = (_pyfiber.KernelArray, ArrayOfObjects, _pyfiber.KernelRecord, *_DTYPES)
    for name in names & overloads.attribute_names():
        for kind in kinds:
            if not hasattr(kind, name):
                setattr(kind, name, _attribute(name, function_of))


def _attribute(name, function_of):
    # Type → (the call, whether it is a method), or None where the type has no such attribute.
    known: dict[types.Type, Any] = {}

    def attribute(value):
        kind = type_of(value)
        if kind not in known:
            found = overloads.of_attribute(types.public(kind), name)
            known[kind] = None if found is None else (call_of(found[0], function_of), found[1])
        if known[kind] is None:
            raise AttributeError(f"Unknown attribute {name!r} of type {kind}")
        call, is_method = known[kind]
        return (
            _native.FramelessMethod(lambda *args, **keywords: call(value, *args, **keywords))
            if is_method
            else call(value)
        )

    return property(attribute)
