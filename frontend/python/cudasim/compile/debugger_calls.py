"""Calls of debuggers in kernels: which functions those are, leaving them out, and `breakpoint()` in compiled kernels.

Where the process has cudasim's own debugger (option `debugger`), `breakpoint()` is compiled: the debugger stops there. Everything else
that calls a debugger makes a kernel run in Python mode (python_mode/choice.py).
"""

from __future__ import annotations

import ast
import builtins
import os
from typing import TYPE_CHECKING

from cudasim.compile.kernel_source import copied

if TYPE_CHECKING:
    from typing import Any

#: Functions by which code stops in a debugger, and the modules of debuggers.
DEBUGGER_CALLS = frozenset(("breakpoint", "set_trace", "wait_for_client"))
_DEBUGGERS = frozenset(("pdb", "pudb", "ipdb", "debugpy", "IPython", "pydevd", "rpdb", "web_pdb", "celery"))
_BREAKPOINT = vars(builtins)["breakpoint"].__name__
_compiled = False


def compile_breakpoints() -> None:
    """From now on `breakpoint()` is compiled: the process has a debugger that stops there."""
    global _compiled
    _compiled = True


def breakpoints_are_compiled() -> bool:
    """Whether `breakpoint()` in kernels is the compiled one."""
    return _compiled


def calls_for_python_mode() -> frozenset[str]:
    """The functions whose calls make a kernel run in Python mode."""
    return DEBUGGER_CALLS - {_BREAKPOINT} if _compiled else DEBUGGER_CALLS


def as_compiled(node: Any, outer: dict[Any, Any], without_debuggers: bool) -> Any:
    """The function's syntax tree for the compiler.

    :param outer: what its outer names stand for (resolve.globals_of); `breakpoint` is replaced by the compiler's own
    :param without_debuggers: leave out calls and imports of debuggers
    """
    if not _compiled:
        return _stripped(node, DEBUGGER_CALLS) if without_debuggers else node
    left_out = calls_for_python_mode() if without_debuggers else frozenset()
    is_builtin = outer.get(_BREAKPOINT) == ("intrinsic", _BREAKPOINT)
    if is_builtin:
        outer[_BREAKPOINT] = ("intrinsic", "debugger.breakpoint")
        if os.environ.get("PYTHONBREAKPOINT") == "0":
            left_out |= {_BREAKPOINT}
    return _stripped(node, left_out, is_builtin) if left_out or is_builtin else node


def _stripped(node, names, without_arguments=False):
    """A copy without the statements that call these functions or import debuggers.

    :param without_arguments: calls of `breakpoint` that are left lose their arguments, which are for pdb
    """
    copy = copied(node)
    for each in ast.walk(copy):
        for statements in (value for _, value in ast.iter_fields(each) if isinstance(value, list)):
            statements[:] = [
                ast.copy_location(ast.Pass(), one) if _is_for_debugger(one, names) else one
                for one in statements
            ]
        if without_arguments and isinstance(each, ast.Call) and getattr(each.func, "id", "") == _BREAKPOINT:
            each.args, each.keywords = [], []
    return copy


def _is_for_debugger(statement, names):
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        module = getattr(statement, "module", None) or statement.names[0].name
        return "set_trace" in names and module.partition(".")[0] in _DEBUGGERS
    function = (
        statement.value.func
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        else None
    )
    return (getattr(function, "id", None) or getattr(function, "attr", None)) in names
