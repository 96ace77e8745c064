"""Types of values that arrays do not hold: literals, optional values, strings, slices, what overload() asks about.

Names are Numba's: "Literal[int](3)", "OptionalType(float64)", "omitted(default=None)", "slice<a:b>".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim import errors
from cudasim.type_system.container_types import BaseTuple, Dummy, IterableType, NoneType, Opaque
from cudasim.type_system.element_types import CharSeq, NestedArray, UnicodeCharSeq  # noqa: F401
from cudasim.type_system.plain_types import boolean, int64, uint64
from cudasim.type_system.scalar_types import Boolean, Hashable, Integer, Type, as_type

if TYPE_CHECKING:
    from typing import Any


class Literal(Type):
    """The type of one value that is known while compiling. `Literal(3)` is an IntegerLiteral."""

    literal_value: Any

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


class UnicodeType(IterableType, Hashable):
    """The type of strings."""


class Optional(Type):
    """A value of a type, or None."""

    def __init__(self, typ: Any) -> None:
        typ = unliteral(as_type(typ))
        assert not isinstance(typ, (Optional, NoneType)), f"{typ} is optional already"
        self.type = typ
        super().__init__(f"OptionalType({typ})")

    @property
    def compiler_name(self) -> str:
        return f"OptionalType({self.type.compiler_name})"

    @property
    def key(self) -> Type:
        return self.type


class Omitted(Opaque):
    """An argument that a call left out: its parameter has the default."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(f"omitted(default={value!r})")

    @property
    def key(self) -> tuple[Any, ...]:
        try:
            hash(self.value)
        except TypeError:
            return type(self.value), id(self.value)
        return type(self.value), self.value


class SliceType(Type):
    """slice2_type or slice3_type: with a step."""

    def __init__(self, name: str, members: int) -> None:
        self.members = members
        super().__init__(name)

    @property
    def key(self) -> Any:
        return self.members

    @property
    def has_step(self) -> bool:
        return self.members == 3


class SliceLiteral(Literal, SliceType):
    """A slice of constants."""

    def __init__(self, value: slice) -> None:
        self.literal_value = value
        SliceType.__init__(self, f"Literal[slice]({value})", 2 if value.step is None else 3)

    @property
    def key(self) -> tuple[Any, ...]:
        return self.literal_value.start, self.literal_value.stop, self.literal_value.step


class EllipsisType(Opaque):
    """`...`"""


class Callable(Type):
    """What can be called."""


class DTypeSpec(Opaque):
    """What stands for the type of elements of arrays; `dtype` is that type."""


class NumberClass(Callable, DTypeSpec):
    """The type of a type in a kernel: of `np.float32`."""

    def __init__(self, instance_type: Any) -> None:
        self.instance_type = as_type(instance_type)
        super().__init__(f"class({self.instance_type})")

    @property
    def dtype(self) -> Type:
        return self.instance_type

    @property
    def key(self) -> Type:
        return self.instance_type


class DType(DTypeSpec):
    """The type of a NumPy dtype: of `np.dtype("f4")`."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = as_type(dtype)
        super().__init__(f"dtype({self.dtype})")

    @property
    def key(self) -> Type:
        return self.dtype


class TypeRef(Dummy):
    """The type of a type's object."""

    def __init__(self, instance_type: Any) -> None:
        self.instance_type = as_type(instance_type)
        super().__init__(f"typeref[{self.instance_type}]")

    @property
    def compiler_name(self) -> str:
        return f"typeref[{self.instance_type.compiler_name}]"

    @property
    def key(self) -> Type:
        return self.instance_type


class Dim3(Type):
    """The type of cuda.threadIdx and its kind."""


class GridGroup(Type):
    """The type of cuda.cg.this_grid()."""


unicode_type = UnicodeType("unicode_type")
string = unicode_type
slice2_type, slice3_type = SliceType("slice<a:b>", 2), SliceType("slice<a:b:c>", 3)
ellipsis = EllipsisType("...")
dim3, grid_group = Dim3("Dim3"), GridGroup("GridGroup")
optional = Optional

#: Those of which there is one, by name.
SINGLE = {one.name: one for one in (unicode_type, slice2_type, slice3_type, ellipsis, dim3, grid_group)}
#: What numba.cuda.types has, and not where it comes from.
PUBLIC = frozenset(
    """Literal IntegerLiteral BooleanLiteral StringLiteral SliceLiteral UnicodeType Optional Omitted SliceType EllipsisType CharSeq
    UnicodeCharSeq NestedArray NumberClass DType DTypeSpec Callable TypeRef Dim3 GridGroup unicode_type string slice2_type slice3_type
    ellipsis dim3 grid_group optional literal unliteral maybe_literal is_homogeneous""".split()
)


#: By the class of the value, not of its bases: a member of an IntEnum is no literal.
_LITERALS: dict[type, Any] = {
    bool: BooleanLiteral,
    int: IntegerLiteral,
    str: StringLiteral,
    slice: SliceLiteral,
}


def literal(value: Any) -> Literal:
    """The type of one int, bool, str or slice.

    :raises LiteralTypingError: for other values
    """
    made = _LITERALS.get(type(value))
    if made is not None:
        return made(value)
    raise errors.LiteralTypingError(
        f"{type(value)} cannot be used as a literal: {value!r} is no int, bool, str or slice"
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
    """The type of values like it, of a literal type, and of tuples of them; any other type as it is."""
    if isinstance(kind, BaseTuple):
        return BaseTuple.from_types(map(unliteral, kind.types), getattr(kind, "instance_class", None))
    return kind.literal_type if isinstance(kind, Literal) else kind


def _plain(value):
    if isinstance(value, str):
        return unicode_type
    if isinstance(value, slice):
        return slice2_type if value.step is None else slice3_type
    if isinstance(value, bool):
        return boolean
    return int64 if -(1 << 63) <= value < 1 << 63 else uint64
