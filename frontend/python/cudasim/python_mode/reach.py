"""What a Python function names, and which device functions it reaches by that."""

from __future__ import annotations

import types as python_types
from typing import TYPE_CHECKING

from cudasim.compile.source_lines import codes_in
from cudasim.launch.dispatcher import CUDADispatcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any


def names_in(code: CodeType) -> set[Any] | set[str]:
    """Every name that a code object, or one nested in it, looks up."""
    names: set[Any] = set()
    for each in codes_in(code):
        names.update(each.co_names, each.co_freevars)
    return names


def outer_values(function: Callable[..., Any]) -> dict[Any, Any]:
    """name → value, for the names of a function that its closure or its globals know."""
    names = names_in(function.__code__)
    values = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            values.pop(name, None)
    return values


def called_dispatchers(function: Callable[..., Any]) -> list[Any]:
    """The dispatchers that a function names: as a global, in its closure, or as an attribute of a module."""
    values = outer_values(function)
    found = [value for value in values.values() if isinstance(value, CUDADispatcher)]
    names = names_in(function.__code__)
    for value in values.values():
        if isinstance(value, python_types.ModuleType):
            members = vars(value)
            found += [members[name] for name in names
                      if isinstance(members.get(name), CUDADispatcher)]  # fmt: skip
    return found


def reachable_functions(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A kernel's Python function and those of all device functions that it reaches."""
    functions = [function]
    for known in functions:  # grows while it runs
        for dispatcher in called_dispatchers(known):
            if (
                isinstance(dispatcher.py_func, python_types.FunctionType)
                and dispatcher.py_func not in functions
            ):
                functions.append(dispatcher.py_func)
    return functions
