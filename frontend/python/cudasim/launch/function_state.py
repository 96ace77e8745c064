"""Python functions as data, for pickling kernels that no module has by name (made in functions, lambdas): their code,
defaults, closure, and the global values that the code names. As numba.cuda's dispatchers, such kernels then travel to
the workers of multiprocessing and to other processes of the same Python; their source file has to be there too.
"""

from __future__ import annotations

import importlib
import marshal
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def state_of(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What function_from() makes an equal function of."""
    from cudasim.compile.bound_function import bound_parts  # only to pickle a kernel

    bound = bound_parts(function)
    if bound is not None:
        original, constants = bound
        return "bound", state_of(original), {name: _described(value) for name, value in constants.items()}
    code = function.__code__
    values = {name: function.__globals__[name] for name in _names(code) if name in function.__globals__}
    cells = None
    if function.__closure__:
        cells = [_described(cell.cell_contents) for cell in function.__closure__]
    return (
        marshal.dumps(code),
        function.__module__,
        function.__qualname__,
        function.__defaults__,
        cells,
        {name: _described(value) for name, value in values.items()},
    )


def function_from(state: tuple[Any, ...]) -> Callable[..., Any]:
    """The function that state_of() described, with globals of its own."""
    if state[0] == "bound":
        from cudasim.compile.bound_function import bind  # only to unpickle a kernel

        _, original, constants = state
        return bind(
            function_from(original), {name: _value(described) for name, described in constants.items()}
        )
    code, module, qualname, defaults, cells, values = state
    code = marshal.loads(code)
    namespace = {"__name__": module, "__builtins__": __builtins__}
    namespace.update((name, _value(described)) for name, described in values.items())
    closure = None if cells is None else tuple(types.CellType(_value(described)) for described in cells)
    function = types.FunctionType(code, namespace, code.co_name, defaults, closure)
    function.__qualname__ = qualname
    return function


def _names(code):
    """Every global name in the code and in functions inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _described(value):
    """(kind, what pickle can take): modules and plain functions have no pickled form that fits."""
    if isinstance(value, types.ModuleType):
        return "module", value.__name__
    if isinstance(value, types.FunctionType):
        return "function", state_of(value)
    return "value", value


def _value(described):
    kind, content = described
    if kind == "module":
        return importlib.import_module(content)
    return function_from(content) if kind == "function" else content
