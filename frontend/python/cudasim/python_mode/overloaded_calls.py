"""What numba.cuda.extending.overload() and its kind implement, in Python mode: the implementation that compiled code has for
the values' types runs on the simulated thread. Types are those of the values: a plain int is a literal, as a constant is."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, _pyfiber, errors, types
from cudasim.compile import overloads
from cudasim.python_mode.values import kernel_types
from cudasim.type_system.array_layout import array_type_name, layout_of
from cudasim.type_system.record_names import record_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DTYPES = {kind: dtype for dtype, kind in kernel_types.items()}


def call_of(overloaded: overloads.Overloaded, function_of: Callable[..., Any]) -> Any:
    """A callable for simulated threads.

    :param function_of: Python function → as simulated threads call it
    """
    known = {}  # types of the arguments → function

    def call(*args, **keywords):
        names = tuple(map(type_name, args)), tuple((key, type_name(value)) for key, value in keywords.items())
        if names not in known:
            known[names] = function_of(_implementation(overloaded, *names))
        return known[names](*args, **keywords)

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


def _implementation(overloaded, positional, named):
    given = list(types.public_types(positional)), {key: types.public_types([name])[0] for key, name in named}
    found, _ = overloaded.implementation(*given)
    if found is None:
        shown = ", ".join([*positional, *(f"{key}={name}" for key, name in named)])
        name = getattr(overloaded.function, "__name__", overloaded.function)
        raise errors.TypingError(f"No implementation of function {name} found for signature: {name}({shown})")
    return found


def type_name(value: Any) -> str:
    """Numba's name of the type of a value that a kernel has in Python mode."""
    kind = type(value)
    if kind in _DTYPES:
        return types.name_of(_DTYPES[kind])
    if value is None:
        return "none"
    if kind in (bool, int, str):
        return f"Literal[{kind.__name__}]({value})"
    if kind is float or kind is complex:
        return types.name_of(kind)
    if isinstance(value, _pyfiber.KernelArray):
        dtype, shape = value.dtype, value.shape
        return (
            array_type_name(dtype, len(shape), layout_of(shape, value.strides, dtype.itemsize))
            or f"array({dtype})"
        )
    if isinstance(value, _pyfiber.KernelRecord):
        return record_name(value.__array__().dtype)
    if isinstance(value, tuple):
        names = list(map(type_name, value))
        fields = getattr(value, "_fields", None)
        return types.tuple_name(names) if fields is None else types.name_of_named_tuples(kind, names)
    if isinstance(value, enum.Enum):
        return types.member_type_name(kind, [str(types.name_of(type(one.value))) for one in kind])
    if isinstance(value, slice):
        return "slice<a:b>" if value.step is None else "slice<a:b:c>"
    if isinstance(value, np.generic):
        return types.name_of(value.dtype)
    if isinstance(value, type):
        return f"class({types.name_of(value)})"
    return f"Function({getattr(value, '__name__', kind.__name__)})"


def add_attributes(names: set[Any] | set[str], function_of: Callable[..., Any]) -> None:
    """Gives the values of kernels the attributes and methods of these names that programs have added."""
    kinds = (_pyfiber.KernelArray, _pyfiber.KernelRecord, *_DTYPES)
    for name in names & overloads.attribute_names():
        for kind in kinds:
            if not hasattr(kind, name):
                setattr(kind, name, _attribute(name, function_of))


def _attribute(name, function_of):
    # By the name of a type: (the call, whether it is a method), or None where the type has no such attribute.
    known: dict[str, Any] = {}

    def attribute(value):
        kind = type_name(value)
        if kind not in known:
            found = overloads.of_attribute(types.public_types([kind])[0], name)
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
