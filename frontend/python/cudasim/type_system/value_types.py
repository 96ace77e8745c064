"""Types of values that arrays do not hold: literals, optional values, strings, slices, what overload() asks about.

Names are Numba's: "Literal[int](3)", "OptionalType(float64)", "omitted(default=None)", "slice<a:b>"; from_name() reads them.
"""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING

import numpy as np

from cudasim import errors, types
from cudasim.types import Boolean, Dummy, Integer, Type, name_of

if TYPE_CHECKING:
    from typing import Any

_LITERAL_NAME = re.compile(r"Literal\[(int|bool|str)\]\((.*)\)", re.DOTALL)
_WRAPPED_NAME = re.compile(r"(OptionalType\(|omitted\(default=|class\(|typeref\[)(.*)[])]", re.DOTALL)
_CHARACTERS_NAME = re.compile(r"\[(unichr|char) x (\d+)\]")
_NESTED_NAME = re.compile(r"nestedarray\((.+), (\(.*\))\)")


class Literal(Type):
    """The type of one value that is known while compiling. `Literal(3)` is an IntegerLiteral."""

    def __new__(cls, value: Any) -> Literal:
        return literal(value) if cls is Literal else super().__new__(cls)

    @property
    def literal_type(self) -> UnicodeType:
        """The type of values like it: int64 of 3."""
        return _plain(self.literal_value)


class IntegerLiteral(Literal, Integer):
    """An int."""

    def __init__(self, value: int) -> None:
        self.literal_value = value
        self.dtype = np.dtype(_plain(value).name)
        Type.__init__(self, f"Literal[int]({value})")


class BooleanLiteral(Literal, Boolean):
    """True or False."""

    def __init__(self, value: bool) -> None:
        self.literal_value, self.dtype = value, np.dtype(bool)
        Type.__init__(self, f"Literal[bool]({value})")


class StringLiteral(Literal, Dummy):
    """A string constant."""

    def __init__(self, value: str) -> None:
        self.literal_value = value
        Type.__init__(self, f"Literal[str]({value})")


class UnicodeType(Type):
    """The type of strings."""


class Optional(Type):
    """A value of a type, or None."""

    def __init__(self, type: Any) -> None:
        self.type = _type(type)
        super().__init__(f"OptionalType({self.type})")


class Omitted(Dummy):
    """An argument that a call left out: its parameter has the default."""

    def __init__(self, default: Any) -> None:
        self.value = default
        super().__init__(f"omitted(default={default!r})")


class SliceType(Type):
    """slice2_type or slice3_type: with a step."""

    @property
    def has_step(self) -> bool:
        return self.name.count(":") == 2

    @property
    def members(self) -> Any:
        return 3 if self.has_step else 2


class EllipsisType(Dummy):
    """`...`"""


class CharSeq(Type):
    """bytes of fixed length, elements of arrays of dtype S."""

    def __init__(self, count: int) -> None:
        self.count, self.dtype = count, np.dtype(f"S{count}")
        super().__init__(f"[char x {count}]")


class UnicodeCharSeq(Type):
    """Strings of fixed length, elements of arrays of dtype U."""

    def __init__(self, count: int) -> None:
        self.count, self.dtype = count, np.dtype(f"U{count}")
        super().__init__(f"[unichr x {count}]")


class NestedArray(types.Array):
    """An array that is a field of a record."""

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        super().__init__(_type(dtype), len(shape), "C")
        self.shape = tuple(shape)
        self.name = f"nestedarray({self.dtype}, {self.shape})"

    def __repr__(self) -> str:
        return f"NestedArray({self.dtype!r}, {self.shape})"

    @property
    def key(self) -> tuple[Any, ...]:
        return self.dtype, self.shape

    @property
    def nitems(self) -> Any:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def size(self) -> Any:
        """Of an element, in bytes."""
        return self.dtype.bitwidth // 8

    @property
    def strides(self) -> Any:
        """In bytes."""
        return tuple(self.size * math.prod(self.shape[axis + 1 :]) for axis in range(self.ndim))


class NumberClass(Dummy):
    """The type of a type in a kernel: of `np.float32`."""

    def __init__(self, instance_type: str) -> None:
        self.instance_type = self.dtype = _type(instance_type)
        super().__init__(f"class({self.instance_type})")


class TypeRef(Dummy):
    """The type of a type's object."""

    def __init__(self, instance_type: Any) -> None:
        self.instance_type = _type(instance_type)
        super().__init__(f"typeref[{self.instance_type}]")


class Dim3(Type):
    """The type of cuda.threadIdx and its kind."""


class GridGroup(Type):
    """The type of cuda.cg.this_grid()."""


unicode_type = UnicodeType("unicode_type")
string = unicode_type
slice2_type, slice3_type = SliceType("slice<a:b>"), SliceType("slice<a:b:c>")
ellipsis = EllipsisType("...")
dim3, grid_group = Dim3("Dim3"), GridGroup("GridGroup")
optional = Optional

#: What has one object for its type, by name.
_KNOWN = {one.name: one for one in (unicode_type, slice2_type, slice3_type, ellipsis, dim3, grid_group)}
#: What numba.cuda.types has, and not where it comes from.
PUBLIC = frozenset(
    """Literal IntegerLiteral BooleanLiteral StringLiteral UnicodeType Optional Omitted SliceType EllipsisType CharSeq
    UnicodeCharSeq NestedArray NumberClass TypeRef Dim3 GridGroup unicode_type string slice2_type slice3_type ellipsis dim3
    grid_group optional literal unliteral maybe_literal is_homogeneous""".split()
)


def literal(value: Any) -> Literal:
    """The type of one int, bool or str.

    :raises LiteralTypingError: for other values
    """
    for kind, made in ((bool, BooleanLiteral), (int, IntegerLiteral), (str, StringLiteral)):
        if type(value) is kind:
            return made(value)
    raise errors.LiteralTypingError(
        f"{type(value)} cannot be used as a literal: {value!r} is no int, bool or str"
    )


def maybe_literal(value: Any) -> Any:
    """As literal(); None for values that have none."""
    try:
        return literal(value)
    except errors.LiteralTypingError:
        return None


def is_homogeneous(*kinds: Any) -> bool:
    """Whether all types are the same."""
    return all(kind == kinds[0] for kind in kinds)


def unliteral(kind: Type) -> Type:
    """The type of values like it, of a literal type; any other type as it is."""
    return kind.literal_type if isinstance(kind, Literal) else kind


def _plain(value):
    if isinstance(value, str):
        return unicode_type
    if isinstance(value, bool):
        return types.boolean
    return types.int64 if -(1 << 63) <= value < 1 << 63 else types.uint64


def _type(value):
    return value if isinstance(value, Type) else types.parse_type(name_of(value))


def from_name(name: str) -> Type | None:
    """The type of that name, or None when it is no such type's."""
    if name in _KNOWN:
        return _KNOWN[name]
    if match := _LITERAL_NAME.fullmatch(name):
        kind, value = match.groups()
        return literal(value if kind == "str" else value == "True" if kind == "bool" else int(value))
    if match := _CHARACTERS_NAME.fullmatch(name):
        return (UnicodeCharSeq if match[1] == "unichr" else CharSeq)(int(match[2]))
    if match := _NESTED_NAME.fullmatch(name):
        return NestedArray(match[1], ast.literal_eval(match[2]))
    if not (match := _WRAPPED_NAME.fullmatch(name)):
        return None
    kind, inside = match.groups()
    if kind.startswith("omitted"):
        return Omitted(ast.literal_eval(inside))
    return {"O": Optional, "c": NumberClass, "t": TypeRef}[kind[0]](inside)
