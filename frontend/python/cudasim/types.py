"""Type objects with Numba's names: `float32`, `float32[:, ::1]`, `void(float32[:], int32)`.

Their str() is what the kernel compiler reads ("array(float32, 2d, C)"). Numba's own type objects, NumPy dtypes
and Python's int, float and bool convert by name (`name_of`), without importing numba.
"""

import enum
import re
import sys

import numpy as np

from cudasim import _record_names

_ARRAY_NAME = re.compile(r"(?:unaligned )?(?:readonly )?array\((.+), (\d+)d, ([CFA])\)")
_DATE_NAME = re.compile(r"(datetime|timedelta)64\[(\w*)\]")
_UNIFORM_TUPLE_NAME = re.compile(r"UniTuple\((.+) x (\d+)\)")
_MEMBER_NAME = re.compile(r"(?:Int)?Enum<(\w+)>\(\w+\)")
_TUPLE_NAME = re.compile(r"Tuple\(([^(].*)?\)")


class Type:
    """A type with a name. Equal names are equal types, and a type equals its name."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name

    __repr__ = __str__

    def __eq__(self, other):
        return self.name == (other.name if isinstance(other, Type) else other)

    def __hash__(self):
        return hash(self.name)

    def __call__(self, *args):
        """A signature with this return type: `int32(int64, float32[:])`."""
        return Signature(self, args)

    def __getitem__(self, dimensions):
        """An array type: `float32[:]`, `float32[:, ::1]` (C order), `float32[::1, :]` (Fortran order)."""
        slices = dimensions if isinstance(dimensions, tuple) else (dimensions,)
        if not all(
            isinstance(s, slice) and s.start is None and s.stop is None and s.step in (None, 1)
            for s in slices
        ):
            raise TypeError(f"an array type is written {self}[:], {self}[:, ::1] or {self}[::1, :]")
        layout = "A"
        if slices[-1].step == 1:
            layout = "C"
        elif slices[0].step == 1:
            layout = "F"
        return Array(self, len(slices), layout)


class Number(Type):
    """A scalar that NumPy knows; calling it with a value converts the value."""

    def __init__(self, name):
        super().__init__(name)
        self.dtype = np.dtype("bool" if name == "bool" else name)

    @property
    def bitwidth(self):
        return self.dtype.itemsize * 8

    def __call__(self, *args):
        if len(args) == 1 and not _is_type_like(args[0]):
            return self.dtype.type(args[0])
        return super().__call__(*args)


class NPDatetime(Number):
    """datetime64 of a unit."""

    _prefix = "datetime64"

    def __init__(self, unit):
        self.unit = unit
        Type.__init__(self, f"{self._prefix}[{unit}]")
        self.dtype = np.dtype(self.name if unit else self._prefix)


class NPTimedelta(NPDatetime):
    """timedelta64 of a unit."""

    _prefix = "timedelta64"


class Array(Type):
    """An array type; layout C, F or A (any strides)."""

    def __init__(self, dtype, ndim, layout):
        self.dtype, self.ndim, self.layout = dtype, ndim, layout
        super().__init__(array_name(str(dtype), ndim, layout))


class Record(Type):
    """A structured scalar; its name says what its fields are (cudasim._record_names)."""

    def __init__(self, dtype):
        """
        :param dtype: the structured numpy.dtype
        """
        self.dtype, self.size, self.aligned = dtype, dtype.itemsize, dtype.isalignedstruct
        super().__init__(_record_names.record_name(dtype))

    @property
    def bitwidth(self):
        return self.size * 8


class Tuple(Type):
    """A tuple type."""

    def __init__(self, types):
        self.types = tuple(types)
        super().__init__(tuple_name([name_of(t) for t in self.types]))


class NamedTuple(Tuple):
    """The type of instances of a class made by collections.namedtuple. Its name says what the fields are called,
    which Numba's, Point(int64, float64), does not."""

    def __init__(self, types, instance_class):
        self._of(types, instance_class.__name__, instance_class._fields)
        self.instance_class = instance_class

    def _of(self, types, class_name, fields):
        self.types, self.fields = tuple(types), tuple(fields)
        Type.__init__(self, named_tuple_name(class_name, fields, map(name_of, self.types)))

    @classmethod
    def from_name(cls, name):
        """Of what named_tuple_name() gave."""
        class_name, fields = name[len("namedtuple(") : -1].split(";", 1)
        pairs = [field.partition("=") for field in _split_names(fields.strip())]
        made = cls.__new__(cls)
        made._of([parse_type(kind) for _, _, kind in pairs], class_name, [field for field, _, _ in pairs])
        return made


class EnumMember(Type):
    """The type of members of an enumeration."""

    def __init__(self, name):
        super().__init__(name)
        self.dtype = parse_type(_MEMBER_NAME.fullmatch(name)[1])


class UniTuple(Tuple):
    """A tuple of `count` elements of one type."""

    def __init__(self, dtype, count):
        super().__init__((dtype,) * count)


class CPointer(Type):
    """A C pointer, for declared device functions."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__("void*" if name_of(dtype) == "none" else f"{name_of(dtype)}*")


class Signature:
    """Return type (None: not said) and argument type names."""

    def __init__(self, return_type, args):
        self.return_type = return_type
        self.args = tuple(name_of(argument) for argument in args)

    def __repr__(self):
        return f"({', '.join(self.args)}{',' if len(self.args) == 1 else ''}) -> {self.return_type}"

    def __eq__(self, other):
        return isinstance(other, Signature) and (self.args, self.return_type) == (
            other.args,
            other.return_type,
        )

    def __hash__(self):
        return hash(self.args)


def array_name(element, ndim, layout):
    """The name of the type of arrays of elements of that name."""
    unaligned = "unaligned " if element.startswith("Record(") and element.endswith(";False)") else ""
    return f"{unaligned}array({element}, {ndim}d, {layout})"


def from_dtype(dtype):
    """The type of values of a NumPy dtype."""
    dtype = np.dtype(dtype)
    return Record(dtype) if dtype.names is not None else parse_type(name_of(dtype))


def named_tuple_name(class_name, fields, names):
    """The name of the type of named tuples with elements of types of these names."""
    return f"namedtuple({class_name}; {', '.join(f'{field}={name}' for field, name in zip(fields, names))})"


def member_type_name(enumeration, value_types):
    """Numba's name of the type of an enumeration's members, whose values have types of these names.

    :raises ValueError: when they have several
    """
    if len(set(value_types)) != 1:
        raise ValueError(f"Cannot type heterogeneous enum: got value types {', '.join(sorted(set(value_types)))}")
    kind = "IntEnum" if issubclass(enumeration, enum.IntEnum) else "Enum"
    return f"{kind}<{value_types[0]}>({enumeration.__name__})"


def tuple_name(names):
    """The name of the tuple type with elements of these names."""
    if names and all(name == names[0] for name in names):
        return f"UniTuple({names[0]} x {len(names)})"
    return f"Tuple({', '.join(names)})"


boolean = bool_ = b1 = Number("bool")
int8, int16, int32, int64 = (Number(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Number(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (Number(f"float{bits}") for bits in (16, 32, 64))
complex64, complex128 = Number("complex64"), Number("complex128")
void = none = Type("none")

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
voidptr = Type("void*")
_PYTHON_TYPES = {int: "int64", float: "float64", bool: "bool", complex: "complex128", type(None): "none"}


def _is_numba_type(value):
    return type(value).__module__.partition(".")[0] in ("numba", "numba_cuda") and hasattr(value, "name")


def _is_type_like(value):
    return (
        isinstance(value, (Type, np.dtype, type))
        or _is_numba_type(value)
        or (isinstance(value, str) and value in ALIASES)
    )


def _numba_type_name(value):
    if hasattr(value, "instance_class") and hasattr(value, "fields"):
        elements = value.types if hasattr(value, "types") else (value.dtype,) * value.count
        return named_tuple_name(value.instance_class.__name__, value.fields, map(name_of, elements))
    if hasattr(value, "layout") and hasattr(value, "ndim"):
        return array_name(name_of(value.dtype), value.ndim, value.layout)
    if hasattr(value, "types") and hasattr(value, "count"):
        return tuple_name([name_of(element) for element in value.types])
    if hasattr(value, "dtype") and hasattr(value, "count"):
        return tuple_name([name_of(value.dtype)] * value.count)
    return str(value.name)


def name_of(value):
    """Numba's name of a type given in any of the accepted forms.

    :raises TypeError: for what is not a type
    """
    if isinstance(value, Type):
        return value.name
    if isinstance(value, str):
        return name_of(parse_type(value))
    if value in _PYTHON_TYPES if isinstance(value, type) else value is None:
        return _PYTHON_TYPES[type(None) if value is None else value]
    if _is_numba_type(value):
        return _numba_type_name(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        dtype = np.dtype(value)
        if dtype.kind in "Mm" and _DATE_NAME.fullmatch(dtype.name + ("" if "[" in dtype.name else "[]")):
            return dtype.name + ("" if "[" in dtype.name else "[]")
        if dtype.name in ALIASES:
            return ALIASES[dtype.name].name
        if dtype.names is not None and dtype.isnative:
            return _record_names.record_name(dtype)
        raise TypeError(f"cudasim has no type for the NumPy dtype {dtype}")
    raise TypeError(f"not a type: {value!r}")


def _evaluate(text):
    # The text is the user's own source (a decorator argument); only type names can be reached from it.
    names = {**ALIASES, "Tuple": Tuple, "UniTuple": UniTuple, "Array": Array, "CPointer": CPointer, "voidptr": voidptr}
    try:
        return eval(text, {"__builtins__": {}}, names)  # noqa: S307
    except NameError as error:
        raise TypeError(f"{text!r} is not a type or signature: {error}") from None
    except SyntaxError:
        raise TypeError(f'{text!r} is not a type or signature; write "void(float32[:], int32)"') from None


def parse_type(text):
    """The type that a string names: "float32", "float32[:, ::1]", or a type's own str()."""
    if text in ALIASES:
        return ALIASES[text]
    if text.endswith("*"):
        return voidptr if text == "void*" else CPointer(parse_type(text[:-1]))
    if match := _ARRAY_NAME.fullmatch(text):
        return Array(parse_type(match[1]), int(match[2]), match[3])
    if match := _DATE_NAME.fullmatch(text):
        return (NPDatetime if match[1] == "datetime" else NPTimedelta)(match[2])
    if match := _UNIFORM_TUPLE_NAME.fullmatch(text):
        return UniTuple(parse_type(match[1]), int(match[2]))
    if match := _TUPLE_NAME.fullmatch(text):
        return Tuple(_split_names(match[1] or ""))
    if text.startswith("namedtuple("):
        return NamedTuple.from_name(text)
    if _MEMBER_NAME.fullmatch(text):
        return EnumMember(text)
    if text.startswith("Record(") and (dtype := _record_names.dtype_from_name(text)) is not None:
        return Record(dtype)
    return _evaluate(text)


def _split_names(text):
    """The names of a tuple's elements, which may be tuples or arrays themselves."""
    names, depth = [], 0
    for part in text.split(", ") if text else []:
        if depth:
            names[-1] += ", " + part
        else:
            names.append(part)
        depth += part.count("(") - part.count(")")
    return names


def is_signature(value):
    """Whether a decorator's argument is a signature (or a list of them) and not a function."""
    if isinstance(value, (str, tuple, Signature, list)):
        return True
    return _is_numba_signature(value)


def _is_numba_signature(value):
    return type(value).__name__ == "Signature" and hasattr(value, "return_type") and hasattr(value, "args")


def parse_signature(value):
    """The argument type names and the return type name (or None) of a signature in any form."""
    if isinstance(value, str):
        value = _evaluate(value)
    if isinstance(value, Signature):
        return value.args, None if value.return_type is None else name_of(value.return_type)
    if _is_numba_signature(value):
        returns = value.return_type
        return tuple(map(name_of, value.args)), None if returns is None else name_of(returns)
    if isinstance(value, tuple):
        return tuple(map(name_of, value)), None
    if isinstance(value, Type):
        return (name_of(value),), None
    raise TypeError(
        f"invalid signature: {value!r} (type: {type(value).__name__!r}) evaluates to {type(value).__name__!r} instead of "
        'tuple or Signature; write "void(float32[:], int32)" or (float32[:], int32)'
    )


def real_numba_types():
    """The module numba.core.types of a real numba that has been imported, or None."""
    if getattr(sys.modules.get("numba"), "__cudasim_stand_in__", False):
        return None
    return sys.modules.get("numba.core.types")


def public(name):
    """A type as users see it, by its name: Numba's own object where numba has been imported, else one of ours."""
    numba_types = real_numba_types()
    own = parse_type(name)
    if numba_types is None:
        return own
    return _numba_type(numba_types, own) or own


def public_types(names):
    """Types as users see them, from their names; a name that no type object has stays a name."""
    return tuple(map(_public_or_name, names))


def _public_or_name(name):
    try:
        return public(name)
    except TypeError:
        return name


def _numba_type(numba_types, own):
    if isinstance(own, Array):
        element = _numba_type(numba_types, own.dtype)
        return element and numba_types.Array(element, own.ndim, own.layout)
    if isinstance(own, Tuple):
        elements = [_numba_type(numba_types, parse_type(name_of(each))) for each in own.types]
        return numba_types.Tuple.from_types(elements) if all(elements) else None
    if own.name == "bool":
        return numba_types.boolean
    found = getattr(numba_types, own.name, None)
    return found if isinstance(found, numba_types.Type) else None
