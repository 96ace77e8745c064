"""Attributes, methods, class methods and operators that programs give the objects of types of their own with overload_attribute() and
its kind, in Python mode: while a kernel runs, the objects' classes have them. What a class has itself comes first, as it is what
Python code means."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

from cudasim import _native, errors, types
from cudasim.compile import overloads
from cudasim.python_mode.overloaded_calls import call_of, type_of
from cudasim.type_system import added_types, registered_types, value_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_BINARY = "add sub mul truediv floordiv mod pow lshift rshift and or xor matmul".split()
#: Special method → the name by which the compiler asks for the function (overloads.of_operation()).
_OPERATORS = {
    **{f"__{name}__": f"operator.{name}" for name in [*_BINARY, *(f"i{name}" for name in _BINARY)]},
    **{
        f"__{name}__": f"operator.{name}"
        for name in "neg pos invert eq ne lt le gt ge getitem setitem contains".split()
    },
    "__and__": "operator.and_",
    "__or__": "operator.or_",
    "__bool__": "bool",
}
_SWAPPED = {f"__r{name}__": f"__{name}__" for name in _BINARY}

_lock = threading.Lock()
_running = 0
_given: list[tuple[type, str]] = []


@contextlib.contextmanager
def given(function_of: Callable[..., Any]) -> Iterator[None]:
    """While a kernel runs.

    :param function_of: Python function → as simulated threads call it
    """
    global _running
    if not overloads.anything_is_overloaded():
        yield
        return
    with _lock:
        _running += 1
        if _running == 1:
            _give(function_of)
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                for owner, name in _given:
                    delattr(owner, name)
                _given.clear()


def _give(function_of):
    operators = {method: found for method, name in _OPERATORS.items() if (found := _overload_of(name))}
    operators |= {method: operators[plain] for method, plain in _SWAPPED.items() if plain in operators}
    for owner in registered_types.classes_of_programs():
        if not hasattr(owner, "__getattr__"):
            _set(owner, "__getattr__", _attributes_of_objects(function_of))
        for method, overloaded in operators.items():
            if getattr(owner, method, None) in (None, getattr(object, method, None)):
                _set(owner, method, _operator(overloaded, function_of, method in _SWAPPED))
    abstract = sys.modules.get("numba.core.types.abstract")
    if abstract is not None:
        for owner in (abstract.Type, type(abstract.Type)):
            _set(owner, "__getattr__", _methods_of_types(function_of))


def _set(owner, name, member):
    with contextlib.suppress(TypeError):  # a class that is not Python's
        setattr(owner, name, member)
        _given.append((owner, name))


def _overload_of(name):
    found = overloads.of_operation(name)
    return found if hasattr(found, "implementation") else None


def _attributes_of_objects(function_of):
    def attribute(value, name):
        kind = types.public(type_of(value))
        found = name in overloads.attribute_names() and overloads.of_attribute(kind, name)
        if not found and not name.startswith("__") and overloads.added_attribute(kind, name) is not None:
            raise AttributeError(
                f"{name!r} of {kind} is code for LLVM: only compiled kernels have it, not one that runs in Python mode; give the class "
                f"{type(value).__name__!r} such a member"
            )
        if not found:
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        return _bound(found, value, function_of)

    return _native.FramelessMethod(attribute)


def _methods_of_types(function_of):
    def attribute(value, name):
        kind: Any = None
        if name in overloads.attribute_names():
            of = added_types.type_of_class if isinstance(value, type) else added_types.of_numba_type
            kind = of(value)
        found = kind and overloads.of_attribute(types.public(value_types.TypeRef(kind)), name)
        if not found:
            raise AttributeError(f"type {value} has no attribute {name!r}")
        return _bound(found, kind.numba_type, function_of)

    return _native.FramelessMethod(attribute)


def _bound(found, value, function_of):
    overloaded, is_method = found
    call = call_of(overloaded, function_of)
    return (
        _native.FramelessMethod(lambda *args, **keywords: call(value, *args, **keywords))
        if is_method
        else call(value)
    )


def _operator(overloaded, function_of, swapped):
    call = call_of(overloaded, function_of, asks_objects=False)

    def operator(value, *others):
        try:
            return call(*others, value) if swapped else call(value, *others)
        except errors.TypingError:
            if others:
                return NotImplemented
            raise

    return operator
