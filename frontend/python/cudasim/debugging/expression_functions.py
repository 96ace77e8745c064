"""Expressions of the debugger as functions that the kernel compiler takes: which ones may be compiled, what their names mean, and that
they change nothing.

What a name means: a variable of the kernel's function, else a word of the debugger's (threadIdx, math, np, ...), else what the function
sees around it (names_around.py).
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from cudasim.compile.compiler import compile_kernel
from cudasim.compile.intrinsics import Intrinsic
from cudasim.compile.kernel_source import KernelSource, give_source, parse
from cudasim.launch.dispatcher import CUDADispatcher
from cudasim.type_system.container_types import named_tuple_class, named_tuple_name, tuple_name
from cudasim.types import Array, Type, from_compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cudasim.compile.compiler import CompiledPythonKernel

FILE = "<condition>"
#: Also in debugger/expressions/kernel_predicate.h.
RESULT = "cudasim_condition_holds"
#: What asks for the thread's place in its block.
_OF_THREAD = {"threadIdx", "laneid", "cuda"}
_SPECIAL = (*_OF_THREAD, "blockIdx", "blockDim", "gridDim", "warpsize")
#: What changes nothing and comes to an end.
_CALLS = {abs, bool, complex, float, int, len, max, min, pow, round}
_NODES = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.Constant, ast.Attribute, ast.Subscript,
    ast.Name, ast.Tuple, ast.Load, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
#: Functions of kernels that write memory.
_WRITES = re.compile(r"Function\(cuda\.(atomic\.|st(cg|cs|wb|wt)\b)")


class NotCompiled(Exception):
    """Python has to evaluate the expression; says why."""


def known_names() -> set[str]:
    """Names that mean something in every expression."""
    return {*_debugger_words(), *vars(builtins)}


def _debugger_words():
    from cudasim import cuda  # which begins the debugger when it is imported

    words: dict[str, Any] = {name: getattr(cuda, name) for name in _SPECIAL if name != "cuda"}
    words.update(cuda=cuda, math=math, np=np, numpy=np)
    return words


def checked(text: str, variables: set[str], around: dict[str, Any]) -> ast.expr:
    """The tree of an expression that is no more than a look at values.

    :param around: what names mean that are no variables
    :raises NotCompiled: for others
    """
    value = parse(f"({text}\n)").body[0].value
    known = {**vars(builtins), **around, **_debugger_words()}
    for node in ast.walk(value):
        if not isinstance(node, _NODES):
            raise NotCompiled(f"{type(node).__name__} is evaluated by Python")
        if isinstance(node, ast.Call):
            called = _meaning(node.func, variables, known)
            if node.keywords or not (_is_plain(called) or _is_for_kernels(called)):
                raise NotCompiled("a call is evaluated by Python")
    return value


def asks_for_thread(value: ast.expr, around: dict[str, Any]) -> bool:
    """Whether the value may depend on the thread's place in its block."""
    return any(
        isinstance(node, ast.Name)
        and (node.id in _OF_THREAD or not isinstance(around.get(node.id, 0), (bool, int, float, complex)))
        for node in ast.walk(value)
    )


def _meaning(node, variables, known):
    """What a name, or a name in a module, stands for; None where that is not known before the kernel runs."""
    if isinstance(node, ast.Name):
        return None if node.id in variables else known.get(node.id)
    if isinstance(node, ast.Attribute):
        outer = _meaning(node.value, variables, known)
        return None if outer is None else getattr(outer, node.attr, None)
    return None


def _is_plain(called):
    if isinstance(called, type):
        return called in _CALLS or issubclass(called, np.number)
    if isinstance(called, np.ufunc):
        return True
    try:
        return called in _CALLS or called is getattr(math, getattr(called, "__name__", ""), math)
    except TypeError:  # no hash
        return False


def _is_for_kernels(called):
    return isinstance(called, (Intrinsic, Type)) or isinstance(called, CUDADispatcher) and called.device


def function_of(body: list[str], parameters: Iterable[str], around: dict[str, Any]) -> Callable[..., Any]:
    """A function object with source, whose names mean what they do in debug expressions."""
    lines = [f"def condition({', '.join(parameters)}):", *("    " + line for line in body)]
    source = "\n".join(lines) + "\n"
    tree = parse(source)
    outer = {**around, **_debugger_words()}
    made: dict[str, Any] = {}
    exec(compile(source, FILE, "exec"), outer, made)  # noqa: S102 - defines the function, and runs nothing of the user's
    function = made["condition"]
    give_source(function, KernelSource(tree.body[0], 0, FILE, 1, lines, source))
    return function


def type_of(description: str) -> Type:
    """The kernel compiler's type of a variable.

    :param description: of the type, in JSON (simulator/jit/debug_types.h)
    :raises NotCompiled: where it has no name
    """
    return from_compiler(_compiler_name(json.loads(description)))


def _compiler_name(kind):
    if kind["kind"] == "pointer":  # a record is known by where it lies
        kind = kind["to"]
    if kind["kind"] == "bool":
        return "boolean"
    name = kind.get("name")
    if not name:
        raise NotCompiled("a variable's type has no name")
    if kind["kind"] != "struct":
        return name
    class_name, fields = name.partition("(")[0], tuple(member[0] for member in kind.get("members", ()))
    if class_name in ("Tuple", "UniTuple"):
        return tuple_name([_compiler_name(member[2]) for member in kind["members"]])
    if named_tuple_class(class_name, fields):
        return named_tuple_name(class_name, fields, [_compiler_name(member[2]) for member in kind["members"]])
    return name


# -- side effects -----------------------------------------------------------------------------------------


def compiled(
    pieces: list[str], result: Type, names: list[str], kinds: list[Type], around: dict[str, Any]
) -> CompiledPythonKernel:
    """The kernel of a statement, in pieces, that assigns an expression's value to RESULT.

    :raises NotCompiled: where it may write memory that is not its own
    :raises Exception: what the kernel compiler refuses
    """
    function = function_of(pieces, [RESULT, *names], around)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about kernels
        kernel = compile_kernel(function, [Array(result, 0, "C"), *kinds], fma=False, without_debuggers=True)
    refuse_side_effects(kernel)
    return kernel


def refuse_side_effects(kernel: CompiledPythonKernel) -> None:
    """Looks through the typed program of an expression, whose device functions may do anything.

    :raises NotCompiled: where it may write memory that is not its own
    """
    if kernel.links:
        raise NotCompiled("a function that is linked may write memory")
    is_first = True
    for function in re.split(r"\n(?=\S)", kernel.typed_ir.strip()):
        values = dict(re.findall(r"^    (\S+) = (.*?)\s*(?:# line \d+)?$", function, re.MULTILINE))
        if any(_WRITES.search(value) for value in values.values()):
            raise NotCompiled("a device function writes memory")
        for target in re.findall(r"^    (%\d+)(?:\[[^\]]*\]|\.\w+) = ", function, re.MULTILINE):
            origin = _origin(target, values)
            is_result = is_first and origin.startswith("argument 0 ")
            if not is_result and not _is_own_array(origin, values):
                raise NotCompiled("a device function writes memory")
        is_first = False


def _origin(name, values):
    """What a value was computed by, behind assignments of variables."""
    seen = set()
    while name not in seen:
        seen.add(name)
        text = values.get(name, "")
        found = re.match(r"(\S+) : ", text)
        if not found:
            return text
        name = found[1]
    return ""


def _is_own_array(origin, values):
    found = re.match(r"call (%\d+)\(", origin)
    return found is not None and "Function(cuda.local.array)" in values.get(found[1], "")
