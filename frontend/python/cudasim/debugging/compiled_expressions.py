"""Expressions that have the kernel's arithmetic: compiled as conditions are, and run on the values of a stopped thread.

    w * w        int64, as in the kernel, where Python's integers grow
    a // b       ZeroDivisionError where b is 0
    f(x[i], 2)   a device function, with the kernel's checks

What is no more than a name, an element or a member is the same for Python. Arrays, calls of Python's functions and the like are left to
it (evaluation.py).
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native
from cudasim.compile.compiler import compile_device_function
from cudasim.compile.kernel_source import parse
from cudasim.debugging.expression_functions import (
    RESULT,
    NotCompiled,
    asks_for_thread,
    checked,
    compiled,
    function_of,
    known_names,
    type_of,
)
from cudasim.debugging.names_around import values_around
from cudasim.launch import stops
from cudasim.launch.tracing import lines_are_watched
from cudasim.types import dtype_of

if TYPE_CHECKING:
    from typing import Any

    from cudasim.launch.stops import Thread

#: What an expression does that has a kernel's arithmetic.
_COMPUTES = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Call, ast.IfExp)
#: Also in debugger/expressions/kernel_predicate.h.
_INTERRUPTED = "interrupted"
_MOST_KEPT = 512


class EvaluationError(Exception):
    """An expression has no value in a thread."""


class CompiledExpressions:
    """What has been compiled, by the expression and the types of its variables."""

    def __init__(self) -> None:
        self._kept: dict[Any, tuple[_Compiled | NotCompiled, Any]] = {}

    def value(self, launch: _native.StoppedLaunch, thread: Thread, frame: int, expression: str) -> Any:
        """The value in a frame of a thread, a NumPy scalar.

        :raises NotCompiled: where Python has to evaluate it
        :raises Exception: what the kernel would raise
        """
        if lines_are_watched():
            raise NotCompiled("a debugger of Python's traces the host thread, and would trace the compiler")
        places = stops.location(launch, thread)
        if frame >= len(places):
            raise NotCompiled("the thread is in no function")
        wanted = _names_in(expression.strip())
        found = {
            variable["name"]: variable
            for variable in launch.variables(thread)
            if variable["frame"] == frame and variable["name"] in wanted
        }
        if any(variable["value"] is None for variable in found.values()):
            raise NotCompiled("a variable's value is not in memory")
        variables = [(name, found[name]["type"], len(found[name]["value"])) for name in sorted(found)]
        around = values_around(places[frame], wanted - set(found))
        if wanted - set(found) - set(around) - known_names():
            raise NotCompiled("there is no such name")
        key = (
            expression,
            tuple(variables),
            tuple(sorted((name, id(value)) for name, value in around.items())),
        )
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = _compiled(expression, variables, around), around  # which keeps the ids
        kept = self._kept[key][0]
        if isinstance(kept, NotCompiled):
            raise kept
        return kept.value(launch, thread, [found[name]["value"] for name, _, _ in variables])


@functools.lru_cache(maxsize=256)
def _names_in(text):
    return {node.id for node in ast.walk(parse(f"({text}\n)")) if isinstance(node, ast.Name)}


class _Compiled:
    def __init__(self, kernel: _native.ExpressionKernel, dtype: np.dtype) -> None:
        self._kernel, self._dtype = kernel, dtype

    def value(self, launch, thread, values):
        result = self._kernel.value(launch, thread, values)
        if isinstance(result, bytes):
            return np.frombuffer(result, self._dtype)[0]
        if result is None:
            raise NotCompiled("the thread's block is not on the device")
        if result == _INTERRUPTED:
            raise KeyboardInterrupt
        raise _as_exception(result)


def _as_exception(reason):
    found = re.fullmatch(r"(\w+)(?:: (.*))?", reason, re.DOTALL)
    kind = getattr(builtins, found[1], None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, Exception)):
        return EvaluationError(reason)
    if kind is ZeroDivisionError:
        return kind("division by zero")
    return kind(found[2] or "")


def _compiled(expression, variables, around):
    try:
        return _compile(expression.strip(), variables, around)
    except NotCompiled as reason:
        return NotCompiled(str(reason))
    except (
        Exception
    ) as refusal:  # of the kernel compiler, which may have its reasons; Python may have an answer
        return NotCompiled(str(refusal))


def _compile(text, variables, around):
    names = [name for name, _, _ in variables]
    value = checked(text, set(names), around)
    if not any(isinstance(node, _COMPUTES) for node in ast.walk(value)):
        raise NotCompiled("it computes nothing")
    if not names and not asks_for_thread(value, around):
        raise NotCompiled("it has nothing of the kernel's")
    kinds = [type_of(kind) for _, kind, _ in variables]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about kernels
        shape = compile_device_function(function_of([f"return ({text}", ")"], names, around), kinds, abi="c")
    kernel = compiled([f"{RESULT}[()] = ({text}", ")"], shape.result_type, names, kinds, around)
    dtype = dtype_of(shape.result_type)
    if dtype.kind not in "biufc":
        raise NotCompiled("it is no number")
    parameters = [(name, size) for name, _, size in variables]
    by_thread = asks_for_thread(value, around)
    return _Compiled(
        _native.ExpressionKernel(kernel.image, kernel.kernel_name, parameters, dtype.itemsize, by_thread),
        dtype,
    )
