"""The exceptions that a kernel's functions raise. A finding has the name of the exception's class and the
text of its arguments; this has the class and the arguments."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class RaisedExceptions:
    """classes: name → class. arguments: (name of the class, text of the arguments) → the arguments, where there are several."""

    def __init__(self) -> None:
        self.classes: dict[str, type] = {}
        self.arguments: dict[tuple[str, str], tuple[Any, ...]] = {}

    def add_class(self, exception: type) -> None:
        self.classes.setdefault(exception.__name__, exception)

    def add_statements(self, function: Callable[..., Any], node: Any) -> None:
        """Notes the `raise` statements of a function with several constant arguments.

        :param node: its syntax tree
        """
        for statement in ast.walk(node):
            call = statement.exc if isinstance(statement, ast.Raise) else None
            if not isinstance(call, ast.Call) or call.keywords or len(call.args) < 2:
                continue
            try:
                name, *arguments = (_value(part, function) for part in (call.func, *call.args))
            except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
                continue  # no constants: the compiler says so
            self.arguments[getattr(name, "__name__", ""), str(tuple(arguments))] = tuple(arguments)


def _value(node, function):
    """The value of a constant expression or of a name of the function's module or closure."""
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, function), node.attr)
    if isinstance(node, ast.Name):
        names = inspect.getclosurevars(function)
        for scope in (names.nonlocals, names.globals, names.builtins):
            if node.id in scope:
                return scope[node.id]
        raise LookupError(node.id)
    return ast.literal_eval(node)


#: For a kernel that raises no exception, or whose exceptions themselves are there.
NONE = RaisedExceptions()
