"""Local names of modules and of what is like one: `atomic = cuda.atomic`, then `atomic.add(x, 0, 1)`.

The compiler knows outer names by their dotted text. Where a kernel gives such a namespace a name of its own, once and before
every use, what the name stands for is put in its place.
"""

from __future__ import annotations

import ast
import enum
import types as python_types
from typing import TYPE_CHECKING

from cudasim.compile.kernel_source import KernelSource, copied
from cudasim.compile.resolve import dotted_name, look_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def with_namespaces_in_place(function: Callable[..., Any], source: KernelSource) -> KernelSource:
    """The source with dotted outer names instead of attributes of such local names; itself where there are none.

    Positions in the file stay those of the names that the user wrote.
    """
    found = _names_of_namespaces(function, source.node)
    if not found:
        return source
    node = copied(source.node)
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id in found:
            child.value = _placed(copied(found[child.value.id]), child.value)
    return KernelSource(
        node, source.line_offset, source.file, source.first_line, source.lines, source.file_text
    )


def _names_of_namespaces(function, node):
    """Local name → the dotted name that is assigned to it, without local names in it."""
    found: dict[str, ast.expr] = {}
    code = function.__code__
    for position, statement in enumerate(
        getattr(node, "body", ()) if isinstance(node, ast.FunctionDef) else ()
    ):
        name = _assigned_name(statement)
        # Other functions see cell variables, and may set them.
        if name is None or name not in code.co_varnames[code.co_argcount :] or name in code.co_cellvars:
            continue
        value = _with_known(statement.value, found)
        root = dotted_name(value)
        if root is None or root.partition(".")[0] in code.co_varnames:
            continue
        before = ast.Module(node.body[:position], [])
        if _is_namespace(look_up(function, root)) and _stores(node, name) == 1 and not _uses(before, name):
            found[name] = value
    return found


def _assigned_name(statement):
    """`name` of the statement `name = a.b`; None of any other."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and isinstance(statement.value, (ast.Name, ast.Attribute)):
            return target.id
    return None


def _with_known(value, found):
    """The expression a.b.c, with what `a` stands for if it is such a name itself."""
    value = copied(value)
    node: Any = value
    parent: Any = None
    while isinstance(node, ast.Attribute):
        node, parent = node.value, node
    if not isinstance(node, ast.Name) or node.id not in found:
        return value
    if parent is None:
        return found[node.id]
    parent.value = found[node.id]
    return value


def _is_namespace(value):
    """Whether the compiler knows its attributes by their dotted names: modules, enumerations, cuda.atomic and its like."""
    if isinstance(value, (python_types.ModuleType, enum.EnumMeta)):
        return True
    return hasattr(value, "__cudasim_intrinsic__") and any(
        hasattr(member, "__cudasim_intrinsic__") for member in vars(value).values()
    )


def _stores(node, name):
    """How often a name is assigned, deleted, imported or declared."""
    count = 0
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            count += child.id == name and not isinstance(child.ctx, ast.Load)
        elif isinstance(child, (ast.Global, ast.Nonlocal)):
            count += name in child.names
        elif isinstance(child, ast.alias):
            count += name in (child.asname, child.name)
        elif isinstance(child, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)):
            count += child.name == name
        elif isinstance(child, (ast.MatchAs, ast.MatchStar)):
            count += child.name == name
        elif isinstance(child, ast.MatchMapping):
            count += child.rest == name
    return count


def _uses(node, name):
    return any(isinstance(child, ast.Name) and child.id == name for child in ast.walk(node))


def _placed(value, name):
    """The expression, at the place of a name in the file."""
    for child in ast.walk(value):
        if isinstance(child, ast.expr):
            ast.copy_location(child, name)
    return value
