"""functools.partial of a kernel: a plain Python function with fewer parameters, whose bound values are constants.

    def scale(factor, x): x[cuda.grid(1)] *= factor
    bind(scale, {"factor": 2.0})     a function of x; `factor` is a name of its closure

So a bound number is a constant of the kernel, good for the shape of a shared array, and may also be a device function
or a type. The function is compiled anew from its own syntax tree, at its own lines: debuggers, coverage and
tracebacks see the user's source. Without source it is a function that calls the original one.
"""

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING

from cudasim.compile.kernel_source import (
    KernelSource,
    SourceNotAvailable,
    compile_tree,
    copied,
    give_source,
    parse,
    source_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def bind(function: Callable[..., Any], values: dict[Any, Any]) -> Callable[..., Any]:
    """The function without the parameters that `values` names."""
    try:
        source = source_of(function)
        made = _compiled(function, source, values)
    except SourceNotAvailable as error:
        made = _calling(function, values)
        give_source(made, error)
    made.__module__, made.__qualname__, made.__doc__ = (
        function.__module__,
        function.__qualname__,
        function.__doc__,
    )
    made.__cudasim_bound__ = (made.__code__, function, values)
    return made


def bound_parts(function: Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, int]] | None:
    """(the original function, name → bound value) of what bind() made; None for another function."""
    # Decorators copy attributes to other functions; the code says whose they are.
    code, *parts = getattr(function, "__cudasim_bound__", (None,))
    return tuple(parts) if code is function.__code__ else None


def _left(function, values):
    """Names of the parameters that stay, and the defaults of those that have one."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    with_default = dict(zip(names[len(names) - len(defaults) :], defaults))
    left = [name for name in names if name not in values]
    return left, {name: with_default[name] for name in left if name in with_default}


def _compiled(function, source, values):
    node = copied(source.node)
    left, defaults = _left(function, values)
    _drop_parameters(node, left, defaults)
    assigned = {child.id for child in ast.walk(node)
                if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load)} & values.keys()  # fmt: skip
    if assigned and isinstance(node, ast.Lambda):
        raise SourceNotAvailable("a lambda that assigns to a parameter which functools.partial binds")
    # A variable of that name begins with the bound value.
    outer = {name: f"{name}__bound" if name in assigned else name for name in values}
    if assigned:
        node.body[:0] = [_assignment(node, name, outer[name]) for name in sorted(assigned)]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells.update((outer[name], types.CellType(value)) for name, value in values.items())
    code = _code(node, source, function, cells)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, tuple(defaults.values()), closure
    )
    give_source(made, KernelSource(node, source.line_offset, source.file, source.first_line, source.lines,
                                   source.file_text))  # fmt: skip
    return made


def _drop_parameters(node, left, defaults):
    arguments = node.args
    arguments.posonlyargs = [each for each in arguments.posonlyargs if each.arg in left]
    arguments.args = [each for each in arguments.args if each.arg in left]
    for each in arguments.posonlyargs + arguments.args:
        each.annotation = None
    # Only their number matters; the values are the function object's.
    arguments.defaults = [ast.copy_location(ast.Constant(None), node.body if isinstance(node, ast.Lambda)
                                            else node.body[0]) for _ in defaults]  # fmt: skip
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None


def _assignment(node, name, outer):
    assignment = ast.Assign([ast.Name(name, ast.Store())], ast.Name(outer, ast.Load()))
    ast.copy_location(assignment, node)
    for child in ast.walk(assignment):
        ast.copy_location(child, node)
    return assignment


def _code(node, source, function, cells):
    """The function's new code object: compiled inside a function whose parameters are the names of its closure."""
    inner = copied(node)
    shell = parse(f"def shell({', '.join(cells)}): pass")
    body = inner if isinstance(inner, ast.FunctionDef) else ast.copy_location(ast.Expr(inner), inner)
    shell.body[0].body = [body]
    ast.increment_lineno(body, source.line_offset)
    code = compile_tree(shell, source.file)
    for name in ("shell", function.__code__.co_name):
        code = next(
            each for each in code.co_consts if isinstance(each, types.CodeType) and each.co_name == name
        )
    return code


def _calling(function, values):
    left, defaults = _left(function, values)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    parameters = [f"{name}=None" if name in defaults else name for name in left]
    text = f"lambda called, {', '.join(values)}: lambda {', '.join(parameters)}: called({', '.join(names)})"
    made = eval(text, {"__builtins__": {}})(function, **values)
    code = made.__code__.replace(co_name=function.__code__.co_name, co_filename=function.__code__.co_filename)
    return types.FunctionType(
        code, function.__globals__, function.__name__, tuple(defaults.values()), made.__closure__
    )
