"""Conditions of breakpoints as kernels, so that a thread that comes by evaluates them in nanoseconds.

    s[i] > 2    def condition(cudasim_condition_holds, s, i):
                    cudasim_condition_holds[()] = 1 if (s[i] > 2) else 0

The kernel compiler gives the types, the arithmetic and the checks that the expression would have in the kernel itself. What it does not
compile, and what is more than a look at values, is evaluated by Python (evaluation.py).
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import symtable
import warnings
from typing import TYPE_CHECKING

import numpy as np

from cudasim.compile.compiler import compile_kernel
from cudasim.compile.kernel_source import KernelSource, give_source, parse
from cudasim.types import from_compiler

if TYPE_CHECKING:
    from typing import Any

    from cudasim import _native

_FILE = "<condition>"
#: Also in debugger/expressions/kernel_predicate.h.
_RESULT = "cudasim_condition_holds"
#: What asks for the thread's place in its block.
_OF_THREAD = {"threadIdx", "laneid", "cuda"}
_SPECIAL = (*_OF_THREAD, "blockIdx", "blockDim", "gridDim", "warpsize")
#: What changes nothing and comes to an end.
_CALLS = {abs, bool, complex, float, int, len, max, min, pow, round}
_NODES = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.Constant, ast.Attribute, ast.Subscript,
    ast.Name, ast.Tuple, ast.Load, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip


class NotCompiled(Exception):
    """Python has to evaluate the condition; says why."""


class ConditionCompiler:
    """What the debug server calls on launching threads. What it raises is why there is no kernel."""

    def names_in(self, expression: str) -> list[tuple[str, bool]]:
        """The names of an expression that are not its own, and whether each means something where no variable is called so.

        :raises SyntaxError: where the text is no expression
        """
        table = symtable.symtable(expression.strip(), _FILE, "eval")
        return [(name, name in _known()) for name in dict.fromkeys(_outer_names(table))]

    def compile(
        self, expression: str, variables: list[tuple[str, str]]
    ) -> tuple[_native.KernelImage, str, bool]:
        """A kernel of the condition, its name, and whether it asks which thread it runs in.

        :param variables: names and types (simulator/jit/debug_types.h) of those that the expression names
        :raises NotCompiled: for more than a look at values
        :raises Exception: what the kernel compiler refuses
        """
        text = expression.strip()
        tree = parse(f"({text}\n)")
        names = [name for name, _ in variables]
        value = tree.body[0].value
        _check(value, set(names))
        function = _function(text, names)
        kinds = [from_compiler(_type_name(json.loads(kind))) for _, kind in variables]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about kernels
            kernel = compile_kernel(function, [from_compiler("array(uint8, 0d, C)"), *kinds], fma=False)
        of_thread = any(isinstance(node, ast.Name) and node.id in _OF_THREAD for node in ast.walk(value))
        return kernel.image, kernel.kernel_name, of_thread


def _known():
    return {*_SPECIAL, "math", "np", "numpy", *vars(builtins)}


def _outer_names(table):
    """Names that a scope, or one inside it, takes from outside."""
    is_top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or is_top and not symbol.is_assigned()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _outer_names(inner)


def _type_name(kind):
    """The kernel compiler's name of a type of debug information."""
    if kind["kind"] == "pointer":  # a record is known by where it lies
        kind = kind["to"]
    if kind["kind"] == "bool":
        return "boolean"
    if not kind.get("name"):
        raise NotCompiled("a variable's type has no name")
    return kind["name"]


def _check(value, variables):
    for node in ast.walk(value):
        if not isinstance(node, _NODES):
            raise NotCompiled(f"{type(node).__name__} is evaluated by Python")
        if isinstance(node, ast.Call) and (node.keywords or not _is_plain(node.func, variables)):
            raise NotCompiled("a call is evaluated by Python")


def _is_plain(called, variables):
    if isinstance(called, ast.Name):
        return called.id not in variables and getattr(builtins, called.id, None) in _CALLS
    if not (isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)):
        return False
    if called.value.id in variables:
        return False
    if called.value.id == "math":
        return hasattr(math, called.attr)
    if called.value.id not in ("np", "numpy"):
        return False
    function = getattr(np, called.attr, None)
    return isinstance(function, np.ufunc) or (isinstance(function, type) and issubclass(function, np.number))


def _function(text, names):
    """A function object with source, whose names mean what they do in debug expressions."""
    from cudasim import cuda  # which begins the debugger when it is imported

    lines = [
        f"def condition({', '.join([_RESULT, *names])}):",
        f"    {_RESULT}[()] = 1 if ({text}",
        "    ) else 0",
    ]
    source = "\n".join(lines) + "\n"
    tree = parse(source)
    outer: dict[str, Any] = {name: getattr(cuda, name) for name in _SPECIAL if name != "cuda"}
    outer.update(cuda=cuda, math=math, np=np, numpy=np)
    made: dict[str, Any] = {}
    exec(compile(source, _FILE, "exec"), outer, made)  # noqa: S102 - defines the function, and runs nothing of the user's
    function = made["condition"]
    give_source(function, KernelSource(tree.body[0], 0, _FILE, 1, lines, source))
    return function
