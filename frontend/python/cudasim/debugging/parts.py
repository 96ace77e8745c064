"""Assignments to parts of values that Python cannot change: an element of a tuple, a field of a named tuple, a component of a complex
number. The whole is assigned then, with a value that differs in that part.

    t[1] = 2.5        t = (t[0], 2.5)
    pt.x = 3          pt = pt._replace(x=3)
    c[2].imag = 4     c[2] = complex(c[2].real, 4)
"""

from __future__ import annotations

import ast
from collections import namedtuple
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

#: What rewritten code calls, besides the names of the debugged function.
HELPERS: dict[str, Any] = {}
_COMPONENTS = ("real", "imag")
#: Names of the values that parts get begin with this.
_VALUE = "_cudasim_value_"


def rewritten(tree: ast.Module, names: dict[str, Any]) -> ast.Module:
    """The same assignments, with those to such parts as assignments to the whole. Run it with HELPERS.

    :param names: what the variables are
    """
    return ast.fix_missing_locations(_Rewriter(names).visit(tree))


def is_own(name: str) -> bool:
    """Whether a name is that of rewritten code, and no variable's."""
    return name in HELPERS or name.startswith(_VALUE)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, names):
        self._names = names

    def visit_Assign(self, node):
        before: list[Any] = []
        targets = [self._target(target, before) for target in node.targets]
        if not before:
            return node
        node = ast.Assign(targets, node.value)
        return [node, *(ast.Assign([whole], ast.Call(ast.Name("_cudasim_with_part", ast.Load()), [
            ast.Name(whole.id, ast.Load()), ast.List(steps, ast.Load()), ast.Name(value, ast.Load())], []))
            for whole, steps, value in before)]  # fmt: skip

    def _target(self, target, found):
        """The target, or where it is such a part the name of a value in its place; the part is added to `found`, with that name."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return type(target)([self._target(each, found) for each in target.elts], ast.Store())
        if isinstance(target, ast.Starred):
            return ast.Starred(self._target(target.value, found), ast.Store())
        steps: list[ast.expr] = []
        node = target
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            if isinstance(node, ast.Attribute):
                steps.append(ast.Constant(node.attr))
            else:
                steps.append(ast.Subscript(ast.Name("_cudasim_index", ast.Load()), node.slice, ast.Load()))
            node = node.value
        if not steps or not isinstance(node, ast.Name):
            return target
        of_array = isinstance(target, ast.Attribute) and isinstance(self._names.get(node.id), np.ndarray)
        if of_array and len(steps) == 1 and target.attr in ("shape", "strides", "dtype"):
            raise ValueError(f"the {target.attr} of an array cannot be set: compiled code knows it")
        is_component = isinstance(target, ast.Attribute) and target.attr in _COMPONENTS
        if not is_component and not isinstance(self._names.get(node.id), tuple):
            return target
        value = f"{_VALUE}{len(found)}"
        found.append((ast.Name(node.id, ast.Store()), steps[::-1], value))
        return ast.Name(value, ast.Store())


class _Index:
    """An index, which is told from an attribute's name by its type."""

    def __init__(self, value):
        self.value = value


class _Indices:
    def __getitem__(self, index):
        return _Index(index)


def _with_part(whole, steps, value):
    """The whole with another part; an array itself, which is changed."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    part = whole[step.value] if isinstance(step, _Index) else getattr(whole, step)
    changed = _with_part(part, rest, value)
    if changed is part:
        return whole
    if isinstance(step, str) and step in _COMPONENTS and np.iscomplexobj(whole) and np.ndim(whole) == 0:
        number = complex(changed, whole.imag) if step == "real" else complex(whole.real, changed)
        return type(whole)(number)
    if isinstance(whole, tuple):
        if isinstance(step, str):
            return type(whole)(*(changed if name == step else getattr(whole, name) for name in whole._fields))  # type: ignore[attr-defined]
        items = list(whole)
        items[step.value] = changed
        return type(whole)(*items) if hasattr(whole, "_fields") else tuple(items)
    if isinstance(step, _Index):
        whole[step.value] = changed
    else:
        setattr(whole, step, changed)
    return whole


HELPERS.update(_cudasim_with_part=_with_part, _cudasim_index=_Indices())


def with_names(kind: dict[str, Any], value: Any) -> Any:
    """Named tuples with their names.

    :param kind: the value's type (simulator/jit/debug_types.h)
    """
    if kind["kind"] != "struct" or type(value) is not tuple or len(value) != len(kind["members"]):
        return value
    items = [with_names(of, item) for (_, _, of), item in zip(kind["members"], value)]
    names = tuple(name for name, _, _ in kind["members"])
    if names == tuple(f"f{index}" for index in range(len(names))):
        return tuple(items)
    return _tuple_class(kind["name"].partition("(")[0], names)(*items)


@lru_cache(maxsize=256)
def _tuple_class(name, fields):
    return namedtuple(name if name.isidentifier() else "tuple_", fields, rename=True)
