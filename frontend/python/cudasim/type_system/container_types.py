"""Types that hold other types: arrays, tuples, members of enumerations, pointers."""

from __future__ import annotations

import enum
import weakref
from typing import TYPE_CHECKING

from cudasim import errors
from cudasim.type_system.scalar_types import Hashable, Type, as_type, register_factories

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class IterableType(Type):
    """What can be iterated over."""


class ArrayCompatible(Type):
    """What can be used as an array."""


class Sized(Type):
    """What has a length."""


class ConstSized(Sized):
    """What has a length that its type says."""


class Container(Sized, IterableType):
    """What holds values of one type."""


class Sequence(Container):
    """A container in order, with indices."""


class Buffer(IterableType, ArrayCompatible):
    """What is indexed like an array."""

    dtype: Any  # the elements' type
    LAYOUTS = frozenset("CFA")
    mutable = aligned = True
    slice_is_copy = False

    def __init__(
        self, dtype: Type, ndim: int, layout: str, readonly: bool = False, name: str | None = None
    ) -> None:
        """
        :param name: Numba's name of the type, where it does not follow from the rest
        """
        if layout not in self.LAYOUTS:
            raise errors.NumbaValueError(f"Invalid layout {layout!r}: C, F or A")
        if isinstance(dtype, Buffer):
            raise errors.NumbaTypeError(
                "The dtype of a Buffer type cannot itself be a Buffer type, this is unsupported behaviour.\nThe dtype "
                f"requested for the unsupported Buffer was: {dtype}."
            )
        self.dtype, self.ndim, self.layout = dtype, ndim, layout
        if readonly:
            self.mutable = False
        if name is None:
            kind = f"{'readonly ' if readonly else ''}{type(self).__name__.lower()}"
            name = f"{kind}({dtype}, {ndim}d, {layout})"
        super().__init__(name)

    @property
    def key(self) -> tuple[Any, ...]:
        return self.dtype, self.ndim, self.layout, self.mutable

    @property
    def readonly(self) -> bool:
        return not self.mutable

    @property
    def as_array(self) -> Any:
        return self

    @property
    def is_contig(self) -> bool:
        return self.layout in "CF"

    @property
    def is_c_contig(self) -> bool:
        return self.layout == "C" or self.ndim <= 1 and self.is_contig

    @property
    def is_f_contig(self) -> bool:
        return self.layout == "F" or self.ndim <= 1 and self.is_contig


class Array(Buffer):
    """An array type; layout C, F or A (any strides)."""

    def __init__(
        self,
        dtype: Type,
        ndim: int,
        layout: str,
        readonly: bool = False,
        name: Any = None,
        aligned: bool = True,
    ) -> None:
        dtype = as_type(dtype)
        if isinstance(dtype, Array):
            dtype, ndim = dtype.as_elements(ndim)
        if not (aligned and getattr(dtype, "aligned", True)):  # records may be not
            self.aligned = False
        if name is None:
            prefix = f"{'' if self.aligned else 'unaligned '}{'readonly ' if readonly else ''}"
            name = f"{prefix}array({dtype}, {ndim}d, {layout})"
        super().__init__(dtype, ndim, layout, readonly, name)

    def __repr__(self) -> str:
        return f"Array({self.dtype!r}, {self.ndim}, {self.layout!r}, {self.readonly}, aligned={self.aligned})"

    def as_elements(self, ndim: int) -> tuple[Type, int]:
        """The dtype and the number of dimensions of an array with `ndim` dimensions that has elements of this type."""
        return self, ndim

    @property
    def compiler_name(self) -> str:
        """Arrays that are read-only, or not aligned, are arrays like others to the compiler."""
        return array_name(self.dtype.compiler_name, self.ndim, self.layout)

    @property
    def key(self) -> tuple[Any, ...]:
        return self.dtype, self.ndim, self.layout, self.mutable, self.aligned

    @property
    def mangling_args(self) -> tuple[Any, ...]:
        return type(self).__name__, [self.dtype, self.ndim, self.layout, "mutable" if self.mutable else "readonly",
                                     "aligned" if self.aligned else "unaligned"]  # fmt: skip

    def copy(
        self, dtype: Any = None, ndim: int | None = None, layout: Any = None, readonly: Any = None
    ) -> Array:
        """The type with other properties."""
        readonly = self.readonly if readonly is None else readonly
        return Array(self.dtype if dtype is None else dtype, self.ndim if ndim is None else ndim, layout or self.layout, readonly,
                     aligned=self.aligned)  # fmt: skip


class UnionType(Type):
    """One of several types."""

    def __init__(self, types: Any) -> None:
        self.types = tuple(sorted(set(types), key=str))
        super().__init__(f"Union[{','.join(map(str, self.types))}]")


class BaseTuple(ConstSized, Hashable):
    """A tuple type: indexing it gives an element's type."""

    types: Any  # the elements' types

    @property
    def compiler_name(self) -> str:
        return tuple_name([one.compiler_name for one in self.types])

    @property
    def count(self) -> int:
        return len(self.types)

    def __len__(self) -> int:
        return len(self.types)

    def __iter__(self) -> Any:
        return iter(self.types)

    def __getitem__(self, index: int) -> Any:
        return self.types[index]

    @staticmethod
    def from_types(tys: Any, pyclass: Any = None) -> BaseTuple:
        """A tuple type, a named one where there is a class."""
        elements = tuple(tys)
        if pyclass is None or pyclass is tuple:
            return Tuple(elements)
        if elements and all(one == elements[0] for one in elements):
            return NamedUniTuple(elements[0], len(elements), pyclass)
        return NamedTuple(elements, pyclass)


class BaseAnonymousTuple(BaseTuple):
    """A tuple type without names of fields."""

    @property
    def mangling_args(self) -> tuple[Any, ...]:
        return type(self).__name__, self.key


class BaseNamedTuple(BaseTuple):
    """The type of instances of a class made by collections.namedtuple. The compiler's name says what the fields are called,
    which Numba's, Point(int64, float64), does not."""

    def _of(self, types, instance_class):
        note_class(instance_class)
        self.types = tuple(map(as_type, types))
        self.fields, self.instance_class = tuple(instance_class._fields), instance_class

    @property
    def compiler_name(self) -> str:
        return named_tuple_name(
            self.instance_class.__name__, self.fields, [one.compiler_name for one in self.types]
        )


class Tuple(BaseAnonymousTuple):
    """A tuple of elements of several types; of one type it is a UniTuple."""

    def __new__(cls, types: Any) -> BaseTuple:  # type: ignore[misc]  # a UniTuple, which is no Tuple in Numba either
        types = tuple(map(as_type, types))
        if cls is Tuple and types and all(one == types[0] for one in types):
            return UniTuple(types[0], len(types))
        return super().__new__(cls)

    def __init__(self, types: Any) -> None:
        self.types = tuple(map(as_type, types))
        super().__init__(f"{type(self).__name__}({', '.join(map(str, self.types))})")

    def __repr__(self) -> str:
        return f"Tuple({self.types!r})"

    @property
    def key(self) -> tuple[Any, ...]:
        return self.types

    @property
    def dtype(self) -> Type:
        """One type for all elements: the union of theirs."""
        return UnionType(self.types)


class UniTuple(BaseAnonymousTuple, Sequence):
    """A tuple of `count` elements of one type."""

    def __init__(self, dtype: Any, count: int) -> None:
        self.dtype = as_type(dtype)
        self.types = (self.dtype,) * count
        super().__init__(f"{type(self).__name__}({self.dtype} x {count})")

    def __repr__(self) -> str:
        return f"UniTuple({self.dtype!r}, {self.count})"

    @property
    def key(self) -> tuple[Any, ...]:
        return self.dtype, self.count


class NamedTuple(BaseNamedTuple):
    """The type of named tuples of elements of several types."""

    def __init__(self, types: Any, cls: Any) -> None:
        self._of(tuple(types), cls)
        super().__init__(f"{cls.__name__}({', '.join(map(str, self.types))})")

    @property
    def key(self) -> tuple[Any, ...]:
        return self.instance_class, self.types


class NamedUniTuple(BaseNamedTuple, Sequence):
    """The type of named tuples whose `count` elements have one type."""

    def __init__(self, dtype: Any, count: int, cls: Any) -> None:
        self.dtype = dtype
        self._of((dtype,) * count, cls)
        super().__init__(f"{cls.__name__}({dtype} x {count})")

    @property
    def key(self) -> tuple[Any, ...]:
        return self.instance_class, self.dtype, self.count


class EnumMember(Type):
    """The type of members of an enumeration: `EnumMember(Colour, int64)`."""

    def __init__(self, cls: Any, dtype: Any, name: str | None = None) -> None:
        """
        :param cls: the enumeration; None where only its name is known
        :param dtype: the type of the members' values
        :param name: Numba's name of the type, where there is no class to make it of
        """
        self.dtype = as_type(dtype)
        if name is None:
            kind = "IntEnum" if issubclass(cls, enum.IntEnum) else "Enum"
            name = f"{kind}<{self.dtype}>({cls.__name__})"
        super().__init__(name)
        self.instance_class = cls
        if cls is not None:
            _classes[name] = cls

    @property
    def key(self) -> tuple[Any, ...]:
        return self.instance_class or self.name, self.dtype


class IntEnumMember(EnumMember):
    """The type of members of an enum.IntEnum."""


class Dummy(Type):
    """Types of what has no value in memory."""


class Opaque(Dummy):
    """Types of what is a pointer to something that nobody looks at."""


class NoneType(Opaque):
    """The type of None."""


class RawPointer(Opaque):
    """A pointer to what nobody says."""


class CompilerType(Type):
    """What the kernel compiler has a name for and no class here says more about: functions, modules, ranges."""


class CPointer(Type):
    """A C pointer, for declared device functions."""

    mutable = True

    def __init__(self, dtype: Any, addrspace: int | None = None) -> None:
        """
        :param addrspace: number of LLVM's address space; None is the generic one
        """
        self.dtype, self.addrspace = as_type(dtype), addrspace
        super().__init__(f"{self.dtype}{'' if addrspace is None else f'_{addrspace}'}*")

    @property
    def compiler_name(self) -> str:
        pointee = self.dtype.compiler_name
        return "void*" if pointee == "none" else f"{pointee}*"

    @property
    def key(self) -> tuple[Any, ...]:
        return self.dtype, self.addrspace


def array_name(element: str, ndim: int, layout: str) -> str:
    """The name of the type of arrays of elements of that name."""
    unaligned = "unaligned " if element.startswith("Record(") and element.endswith(";False)") else ""
    return f"{unaligned}array({element}, {ndim}d, {layout})"


def named_tuple_name(class_name: str, fields: tuple[str, ...], names: Iterable[str]) -> str:
    """The name of the type of named tuples with elements of types of these names."""
    return f"namedtuple({class_name}; {', '.join(f'{field}={name}' for field, name in zip(fields, names))})"


def note_class(named_tuple_class: Any) -> None:
    """Remembers a class whose instances kernels have: types' names say only what it is called."""
    _classes[named_tuple_class.__name__, named_tuple_class._fields] = named_tuple_class


def named_tuple_class(class_name: str, fields: tuple[str, ...]) -> Any:
    """The class of this name, with these fields, that was remembered last; None where none was."""
    return _classes.get((class_name, fields))


def enumeration_of(name: str) -> Any:
    """The enumeration whose members have the type of this name; None where none has been seen."""
    return _classes.get(name)


def member_type(enumeration: type, value_types: Iterable[Any]) -> EnumMember:
    """The type of an enumeration's members, whose values have these types.

    :raises ValueError: when they have several
    """
    kinds = set(value_types)
    if len(kinds) != 1:
        raise ValueError(
            f"Cannot type heterogeneous enum: got value types {', '.join(sorted(map(str, kinds)))}"
        )
    return (IntEnumMember if issubclass(enumeration, enum.IntEnum) else EnumMember)(enumeration, kinds.pop())


def tuple_name(names: list[str]) -> str:
    """The name of the tuple type with elements of these names."""
    if names and all(name == names[0] for name in names):
        return f"UniTuple({names[0]} x {len(names)})"
    return f"Tuple({', '.join(names)})"


#: (Name, fields) of named tuples, names of enumerations' types → the classes, which types' names do not hold.
_classes: Any = weakref.WeakValueDictionary()

register_factories(array=Array)
