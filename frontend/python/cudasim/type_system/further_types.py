"""Numba's types of values that kernels cannot have: lists, iterators, functions of the host, classes. There are objects for them
because programs compare with them (`isinstance(kind, types.List)`); the kernel compiler knows none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.type_system.value_types import Callable
from cudasim.types import (
    Buffer,
    Container,
    CPointer,
    Dummy,
    EnumMember,
    IntEnumMember,
    IterableType,
    Opaque,
    Sequence,
    Tuple,
    Type,
    UniTuple,
    int32,
    int64,
    uint64,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cudasim.type_system.signatures import Signature


class _Keyed(Type):
    """A type with a key that is not its name."""

    def __init__(self, name: str, key: object) -> None:
        self._key = key
        super().__init__(name)

    @property
    def key(self) -> object:
        return self._key


class Phantom(Dummy):
    """Types of values that are not there when the program runs."""


class Undefined(Dummy):
    """The type of what is not known yet."""

    def is_precise(self) -> bool:
        return False


class UndefVar(Dummy):
    """The type of a variable before its first assignment."""


class PyObject(Dummy):
    """The type of any Python object."""

    def is_precise(self) -> bool:
        return False


class Module(_Keyed, Dummy):
    """The type of a Python module."""

    def __init__(self, pymod: object) -> None:
        self.pymod = pymod
        super().__init__(f"Module({pymod})", pymod)


class VarArg(_Keyed):
    """The type of `*args`."""

    def __init__(self, dtype: Type) -> None:
        self.dtype = dtype
        super().__init__(f"*{dtype}", dtype)


class Pair(_Keyed):
    """Two values."""

    def __init__(self, first_type: Type, second_type: Type) -> None:
        self.first_type, self.second_type = first_type, second_type
        super().__init__(f"pair<{first_type}, {second_type}>", (first_type, second_type))


class MemInfoPointer(_Keyed):
    """A pointer to memory that Numba counts references of."""

    mutable = True

    def __init__(self, dtype: Type) -> None:
        self.dtype = dtype
        super().__init__(f"memory-managed *{dtype}", dtype)


class EphemeralPointer(CPointer):
    """A C pointer that is valid during a call."""


class EphemeralArray(_Keyed):
    """`count` values that are there during a call."""

    def __init__(self, dtype: Type, count: int) -> None:
        self.dtype, self.count = dtype, count
        super().__init__(f"*{dtype}[{count}]", (dtype, count))


class Poison(Type):
    """The type of an error."""

    def __init__(self, ty: object) -> None:
        self.ty = ty
        super().__init__(f"Poison<{ty}>")


class Bytes(Buffer):
    """The type of bytes."""

    mutable = False


class ByteArray(Buffer):
    """The type of bytearray."""

    slice_is_copy = True


class MemoryView(Buffer):
    """The type of memoryview."""


class PyArray(Buffer):
    """The type of array.array."""

    slice_is_copy = True


class StarArgTuple(Tuple):
    """The type of a tuple that a call spreads over parameters."""


class StarArgUniTuple(UniTuple):
    """The same, of elements of one type."""


class NamedTupleClass(_Keyed, Callable, Opaque):
    """The type of a class made by collections.namedtuple."""

    def __init__(self, instance_class: type) -> None:
        self.instance_class = instance_class
        super().__init__(f"class({instance_class})", instance_class)


class EnumClass(_Keyed, Dummy):
    """The type of an enumeration."""

    _kind, _member = "Enum", EnumMember

    def __init__(self, cls: type, dtype: Type) -> None:
        self.instance_class, self.dtype = cls, dtype
        super().__init__(f"{self._kind} class<{dtype}>({cls.__name__})", (cls, dtype))

    @property
    def member_type(self) -> EnumMember:
        """The type of its members."""
        return self._member(self.instance_class, self.dtype)


class IntEnumClass(EnumClass):
    """The type of an enum.IntEnum."""

    _kind, _member = "IntEnum", IntEnumMember


class ExceptionClass(_Keyed, Callable, Phantom):
    """The type of a class of exceptions."""

    def __init__(self, exc_class: type) -> None:
        self.exc_class = exc_class
        super().__init__(exc_class.__name__, exc_class)


class ExceptionInstance(_Keyed, Phantom):
    """The type of an exception."""

    def __init__(self, exc_class: type) -> None:
        self.exc_class = exc_class
        super().__init__(f"{exc_class.__name__}(...)", exc_class)


class ContextManager(Callable, Phantom):
    """The type of what `with` takes."""

    def __init__(self, cm: object) -> None:
        self.cm = cm
        super().__init__(f"ContextManager({cm})")


class BaseFunction(Callable, Opaque):
    """Types of functions that Numba knows."""


class Function(_Keyed, BaseFunction):
    """The type of a function that a typing template describes."""

    def __init__(self, template: object) -> None:
        self.template = template
        super().__init__(f"Function({getattr(template, 'key', template)})", template)


class ExternalFunction(Function):
    """The type of a function of a library, by its symbol."""

    def __init__(self, symbol: str, sig: object) -> None:
        self.symbol, self.sig = symbol, sig
        _Keyed.__init__(self, f"ExternalFunction({symbol})", (symbol, sig))


class FunctionPrototype(Type):
    """The return type and the parameters' types of a first-class function."""

    def __init__(self, rtype: Type, atypes: Iterable[Type]) -> None:
        self.rtype, self.atypes = rtype, tuple(atypes)
        super().__init__(f"{rtype}({', '.join(map(str, self.atypes))})")


class FunctionType(_Keyed):
    """The type of a first-class function."""

    def __init__(self, signature: Signature) -> None:
        self.signature, self.nargs = signature, len(signature.args)
        self.ftype = FunctionPrototype(signature.return_type, signature.args)
        super().__init__(f"FunctionType[{self.ftype}]", self.ftype.name)


class MutableSequence(Sequence):
    """A sequence that can be written to."""

    mutable = True


class List(_Keyed, MutableSequence):
    """The type of a list."""

    def __init__(self, dtype: Type, reflected: bool = False, initial_value: object = None) -> None:
        self.dtype, self.reflected, self.initial_value = dtype, reflected, initial_value
        name = f"{'reflected ' if reflected else ''}list({dtype})<iv={initial_value}>"
        super().__init__(name, (dtype, reflected, str(initial_value)))

    def __repr__(self) -> str:
        return f"List({self.dtype}, {self.reflected})"


class Set(_Keyed, Container):
    """The type of a set."""

    mutable = True

    def __init__(self, dtype: Type, reflected: bool = False) -> None:
        self.dtype, self.reflected = dtype, reflected
        super().__init__(f"{'reflected ' if reflected else ''}set({dtype})", (dtype, reflected))

    def __repr__(self) -> str:
        return f"Set({self.dtype}, {self.reflected})"


class ListType(_Keyed, IterableType):
    """The type of numba.typed.List."""

    mutable = True

    def __init__(self, itemty: Type) -> None:
        self.item_type = self.dtype = itemty
        super().__init__(f"ListType[{itemty}]", itemty)

    def __repr__(self) -> str:
        return f"ListType({self.item_type})"


class DictType(_Keyed, IterableType):
    """The type of numba.typed.Dict."""

    def __init__(self, keyty: Type, valty: Type, initial_value: object = None) -> None:
        self.key_type, self.value_type, self.initial_value = keyty, valty, initial_value
        super().__init__(f"DictType[{keyty},{valty}]<iv={initial_value}>", (keyty, valty, str(initial_value)))

    def __repr__(self) -> str:
        return f"DictType({self.key_type}, {self.value_type})"

    @property
    def keyvalue_type(self) -> Type:
        """The type of a key with its value."""
        return Tuple((self.key_type, self.value_type))


class IteratorType(IterableType):
    """Types of iterators."""


class SimpleIterableType(IterableType):
    """What has iterators of a type that is known."""


class SimpleIteratorType(IteratorType):
    """Iterators over values of a type that is known."""


class RangeType(SimpleIterableType):
    """The type of range()."""

    def __init__(self, dtype: Type) -> None:
        self.dtype = dtype
        super().__init__(f"range_state_{dtype}")

    @property
    def iterator_type(self) -> Type:
        """The type of its iterators."""
        return RangeIteratorType(self.dtype)


class RangeIteratorType(SimpleIteratorType):
    """The type of iterators over a range()."""

    def __init__(self, dtype: Type) -> None:
        self.dtype = self.yield_type = dtype
        super().__init__(f"range_iter_{dtype}")


pyobject, undefined, unknown = PyObject("pyobject"), Undefined("undefined"), Dummy("unknown")
code_type, pyfunc_type, ffi_forced_object = Opaque("code"), Opaque("pyfunc"), Opaque("ffi_forced_object")
Any, py2_string_type = Phantom("any"), Opaque("str")
range_state32_type, range_iter32_type = RangeType(int32), RangeIteratorType(int32)
range_state64_type, range_iter64_type = RangeType(int64), RangeIteratorType(int64)
unsigned_range_state64_type, unsigned_range_iter64_type = RangeType(uint64), RangeIteratorType(uint64)

#: What numba.cuda.types has, and not where it comes from.
PUBLIC = frozenset(
    name for name, value in list(globals().items())
    if not name.startswith("_") and (isinstance(value, Type) or isinstance(value, type))
)  # fmt: skip
