"""Type objects with Numba's names: `float32`, `float32[:, ::1]`, `void(float32[:], int32)`.

Types that are equal are the same object. What the kernel compiler reads is `name_of` a type ("array(float32, 2d, C)");
str() is Numba's name, which does not always say enough ("Point(int64, float64)"). Numba's own type objects, NumPy dtypes
and Python's int, float and bool convert by name (`name_of`), without importing numba.
"""

from __future__ import annotations

import collections
import enum
import re
import types as python_types
import weakref
from typing import TYPE_CHECKING

import numpy as np

from cudasim import errors
from cudasim.type_system import record_names
from cudasim.type_system.scalar_types import (  # noqa: F401
    Bfloat16,
    Boolean,
    Complex,
    Float,
    Hashable,
    Integer,
    NPDatetime,
    NPTimedelta,
    Number,
    Scalar,
    Type,
    is_numba_type,
    is_type_like,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_ARRAY_NAME = re.compile(r"(?:unaligned )?(?:readonly )?array\((.+), (\d+)d, ([CFA])\)")
_DATE_NAME = re.compile(r"(datetime|timedelta)64\[(\w*)\]")
_UNIFORM_TUPLE_NAME = re.compile(r"UniTuple\((.+) x (\d+)\)")
_MEMBER_NAME = re.compile(r"(?:Int)?Enum<(\w+)>\(\w+\)")
_TUPLE_NAME = re.compile(r"Tuple\(([^(].*)?\)")


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
        if isinstance(dtype, Array):
            dtype, ndim = dtype.as_elements(ndim)
        if not aligned or isinstance(dtype, Record) and not dtype.aligned:
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
        element = self.dtype.compiler_name if isinstance(self.dtype, Type) else str(self.dtype)
        return array_name(element, self.ndim, self.layout)

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
        return tuple_name([name_of(one) for one in self.types])

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
        self.types, self.fields, self.instance_class = types, tuple(instance_class._fields), instance_class

    @property
    def compiler_name(self) -> str:
        return named_tuple_name(self.instance_class.__name__, self.fields, map(name_of, self.types))


class Tuple(BaseAnonymousTuple):
    """A tuple of elements of several types; of one type it is a UniTuple."""

    def __new__(cls, types: Any) -> BaseTuple:  # type: ignore[misc]  # a UniTuple, which is no Tuple in Numba either
        types = tuple(map(_element, types))
        if cls is Tuple and types and all(one == types[0] for one in types):
            return UniTuple(types[0], len(types))
        return super().__new__(cls)

    def __init__(self, types: Any) -> None:
        self.types = tuple(map(_element, types))
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
        self.dtype = _element(dtype)
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


def _element(kind):
    return parse_type(kind) if isinstance(kind, str) else kind


def _named_tuple_of(name):
    """The type that named_tuple_name() gave this name; of a class like it where no such class has been seen."""
    class_name, fields = name[len("namedtuple(") : -1].split(";", 1)
    pairs = [field.partition("=") for field in _split_names(fields.strip())]
    names = tuple(field for field, _, _ in pairs)
    known = _classes.get((class_name, names)) or collections.namedtuple(class_name, names)
    return BaseTuple.from_types([parse_type(kind) for _, _, kind in pairs], known)


class EnumMember(Type):
    """The type of members of an enumeration: `EnumMember(Colour, int64)`, or of its name."""

    def __init__(self, cls: Any, dtype: Any = None) -> None:
        name = cls if dtype is None else member_type_name(cls, [name_of(dtype)])
        super().__init__(name)
        match = _MEMBER_NAME.fullmatch(name)
        assert match is not None, f"{name} is not the name of an enumeration's type"
        self.dtype = parse_type(match[1])
        #: The enumeration, as far as a value of it has been seen; else None.
        self.instance_class = _classes.get(name) if dtype is None else cls

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


class CPointer(Type):
    """A C pointer, for declared device functions."""

    mutable = True

    def __init__(self, dtype: Any, addrspace: int | None = None) -> None:
        """
        :param addrspace: number of LLVM's address space; None is the generic one
        """
        self.dtype, self.addrspace = dtype, addrspace
        super().__init__(f"{dtype}{'' if addrspace is None else f'_{addrspace}'}*")

    @property
    def compiler_name(self) -> str:
        return "void*" if name_of(self.dtype) == "none" else f"{name_of(self.dtype)}*"

    @property
    def key(self) -> tuple[Any, ...]:
        return self.dtype, self.addrspace


def array_name(element: str, ndim: int, layout: str) -> str:
    """The name of the type of arrays of elements of that name."""
    unaligned = "unaligned " if element.startswith("Record(") and element.endswith(";False)") else ""
    return f"{unaligned}array({element}, {ndim}d, {layout})"


def from_dtype(dtype: Any) -> Any:
    """The type of values of a NumPy dtype."""
    dtype = np.dtype(dtype)
    return Record(dtype) if dtype.names is not None else parse_type(name_of(dtype))


def named_tuple_name(class_name: str, fields: tuple[str, ...], names: Iterable[str]) -> str:
    """The name of the type of named tuples with elements of types of these names."""
    return f"namedtuple({class_name}; {', '.join(f'{field}={name}' for field, name in zip(fields, names))})"


def name_of_named_tuples(instance_class: Any, names: Any) -> str:
    """As named_tuple_name(), of a class, which is remembered."""
    note_class(instance_class)
    return named_tuple_name(instance_class.__name__, instance_class._fields, names)


def note_class(named_tuple_class: Any) -> None:
    """Remembers a class whose instances kernels have: types' names say only what it is called."""
    _classes[named_tuple_class.__name__, named_tuple_class._fields] = named_tuple_class


def member_type_name(enumeration: type, value_types: list[str]) -> str:
    """Numba's name of the type of an enumeration's members, whose values have types of these names.

    :raises ValueError: when they have several
    """
    if len(set(value_types)) != 1:
        raise ValueError(
            f"Cannot type heterogeneous enum: got value types {', '.join(sorted(set(value_types)))}"
        )
    kind = "IntEnum" if issubclass(enumeration, enum.IntEnum) else "Enum"
    name = f"{kind}<{value_types[0]}>({enumeration.__name__})"
    _classes[name] = enumeration
    return name


def tuple_name(names: list[str]) -> str:
    """The name of the tuple type with elements of these names."""
    if names and all(name == names[0] for name in names):
        return f"UniTuple({names[0]} x {len(names)})"
    return f"Tuple({', '.join(names)})"


#: (Name, fields) of named tuples, names of enumerations' types → the classes, which types' names do not hold.
_classes: Any = weakref.WeakValueDictionary()

boolean = bool_ = b1 = Boolean("bool")
int8, int16, int32, int64 = (Integer(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Integer(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (Float(f"float{bits}") for bits in (16, 32, 64))
bfloat16 = Bfloat16()
complex64, complex128 = Complex("complex64"), Complex("complex128")
void = none = NoneType("none")

# Numba's other names for them, on 64-bit Linux.
i1, i2, i4, i8 = char, short, intc, longlong = int8, int16, int32, int64
u1, u2, u4, u8 = uchar, ushort, uintc, ulonglong = uint8, uint16, uint32, uint64
f2, f4, f8 = float16, float32, float64
c8, c16 = complex64, complex128
byte, int_, uint, long_, ulong, double, float_ = uint8, int64, uint64, int64, uint64, float64, float32
intp = ssize_t = int64
uintp = size_t = uint64

ALIASES = {name: value for name, value in list(globals().items()) if isinstance(value, Type)}
ALIASES["bool"] = boolean
ALIASES[bfloat16.name] = bfloat16
voidptr = RawPointer("void*")
_PYTHON_TYPES = {int: "int64", float: "float64", bool: "bool", complex: "complex128", type(None): "none"}


def _numba_type_name(value):
    if hasattr(value, "instance_class") and hasattr(value, "fields"):
        elements = value.types if hasattr(value, "types") else (value.dtype,) * value.count
        return name_of_named_tuples(value.instance_class, map(name_of, elements))
    if hasattr(value, "layout") and hasattr(value, "ndim"):
        return array_name(name_of(value.dtype), value.ndim, value.layout)
    if hasattr(value, "types") and hasattr(value, "count"):
        return tuple_name([name_of(element) for element in value.types])
    if hasattr(value, "dtype") and hasattr(value, "count"):
        return tuple_name([name_of(value.dtype)] * value.count)
    return str(value.name)


def name_of(value: Any) -> str:
    """The compiler's name of a type given in any of the accepted forms: Numba's name, with the fields of named tuples.

    :raises TypeError: for what is not a type
    """
    if isinstance(value, Type):
        return value.compiler_name
    if isinstance(value, str):
        return name_of(parse_type(value))
    if value in _PYTHON_TYPES if isinstance(value, type) else value is None:
        return _PYTHON_TYPES[type(None) if value is None else value]
    if is_numba_type(value):
        return _numba_type_name(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        dtype = np.dtype(value)
        if dtype.kind in "Mm" and _DATE_NAME.fullmatch(dtype.name + ("" if "[" in dtype.name else "[]")):
            return dtype.name + ("" if "[" in dtype.name else "[]")
        if dtype.name in ALIASES:
            return ALIASES[dtype.name].name
        if (dtype.names is not None or dtype.kind in "SU") and dtype.isnative:
            return record_names.dtype_name(dtype)
        raise TypeError(f"cudasim has no type for the NumPy dtype {dtype}")
    raise TypeError(f"not a type: {value!r}")


def dtype_of(value: Any) -> np.dtype:
    """The NumPy dtype of what an array of such elements holds.

    :param value: a dtype, or a type in any of the forms that name_of() accepts
    """
    if isinstance(value, np.dtype):
        return value
    parsed = parse_type(name_of(value))
    dtype = getattr(parsed, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else np.dtype(str(parsed))


def evaluate(text: str) -> Any:
    """The type or signature that a string of Python makes of the names of types.

    :raises NameError, SyntaxError: as Numba does
    """
    # The text is the user's own source (a decorator argument); only type names can be reached from it.
    from cudasim.type_system import value_types as _value_types

    names = {**ALIASES, "Tuple": Tuple, "UniTuple": UniTuple, "Array": Array, "CPointer": CPointer, "voidptr": voidptr,
             **{name: getattr(_value_types, name) for name in _value_types.PUBLIC}}  # fmt: skip
    names["types"] = python_types.SimpleNamespace(**names)
    try:
        return eval(text, {"__builtins__": {}}, names)  # noqa: S307
    except NameError as error:
        raise NameError(f"{text!r} is not a type or signature: {error}") from None
    except SyntaxError:
        raise SyntaxError(f'{text!r} is not a type or signature; write "void(float32[:], int32)"') from None


def parse_type(text: str) -> Type:
    """The type that a string names: "float32", "float32[:, ::1]", or a type's own str()."""
    if text in ALIASES:
        return ALIASES[text]
    if text.endswith("*"):
        return voidptr if text == "void*" else CPointer(parse_type(text[:-1]))
    if match := _ARRAY_NAME.fullmatch(text):
        return Array(parse_type(match[1]), int(match[2]), match[3], "readonly " in text)
    if match := _DATE_NAME.fullmatch(text):
        return (NPDatetime if match[1] == "datetime" else NPTimedelta)(match[2])
    if match := _UNIFORM_TUPLE_NAME.fullmatch(text):
        return UniTuple(parse_type(match[1]), int(match[2]))
    if match := _TUPLE_NAME.fullmatch(text):
        return Tuple(_split_names(match[1] or ""))
    if text.startswith("namedtuple("):
        return _named_tuple_of(text)
    if _MEMBER_NAME.fullmatch(text):
        return IntEnumMember(text) if text.startswith("Int") else EnumMember(text)
    if text.startswith("Record(") and (dtype := record_names.dtype_from_name(text)) is not None:
        return Record(dtype)
    from cudasim.type_system import value_types as _value_types

    try:
        return _value_types.from_name(text) or evaluate(text)
    except (NameError, SyntaxError) as error:
        raise TypeError(str(error)) from None


def _split_names(text):
    """The names of a tuple's elements, which may be tuples or arrays themselves."""
    names: list[str] = []
    depth = 0
    for part in text.split(", ") if text else []:
        if depth:
            names[-1] += ", " + part
        else:
            names.append(part)
        depth += part.count("(") - part.count(")")
    return names


# Used by the classes above, and asked for here: numba.cuda's users think of types.
from cudasim.type_system import type_aliases  # noqa: E402
from cudasim.type_system.numba_types import public, public_types, real_numba_types  # noqa: E402, F401
from cudasim.type_system.record_type import Record  # noqa: E402
from cudasim.type_system.signatures import Signature, is_signature, parse_signature  # noqa: E402, F401

globals().update(type_aliases.names(globals()))
