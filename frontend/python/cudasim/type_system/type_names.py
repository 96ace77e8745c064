"""Types and their names: the type that a name, a NumPy dtype, a class of Python's or an object of Numba's stands for, and the name
that the kernel compiler has for a type.

Types travel as objects. Names are made where a type goes to C++, into a file or into a message, and read (`from_compiler`,
`type_named`, `parse_type`) where they come from there, or from a user.
"""

from __future__ import annotations

import ast
import collections
import re
import types as python_types
from typing import TYPE_CHECKING

import numpy as np

from cudasim.type_system import added_types, plain_types, record_names, value_types
from cudasim.type_system.container_types import (
    Array,
    BaseTuple,
    CompilerType,
    CPointer,
    EnumMember,
    IntEnumMember,
    Tuple,
    UniTuple,
    enumeration_of,
    named_tuple_class,
)
from cudasim.type_system.element_types import Record, of_dtype
from cudasim.type_system.scalar_types import (
    ALIASES,
    NPDatetime,
    NPTimedelta,
    Type,
    as_type,
    is_numba_type,
    register_factories,
)

if TYPE_CHECKING:
    from typing import Any

# Patterns as texts: re compiles and keeps them when a name is read, which few programs
# do before their first launch.
_ARRAY_NAME = r"(unaligned )?(readonly )?array\((.+), (\d+)d, ([CFA])\)"
_DATE_NAME = r"(datetime|timedelta)64\[(\w*)\]"
_UNIFORM_TUPLE_NAME = r"UniTuple\((.+) x (\d+)\)"
_MEMBER_NAME = r"(Int)?Enum<(\w+)>\(\w+\)"
_TUPLE_NAME = r"Tuple\(([^(].*)?\)"
_LITERAL_NAME = r"(?s)Literal\[(int|bool|str)\]\((.*)\)"
_WRAPPED_NAME = r"(?s)(OptionalType\(|omitted\(default=|class\(|dtype\(|typeref\[)(.*)[])]"
_CHARACTERS_NAME = r"\[(unichr|char) x (\d+)\]"
_NESTED_NAME = r"nestedarray\((.+), (\(.*\))\)"
_WRAPPERS = {
    "O": value_types.Optional,
    "c": value_types.NumberClass,
    "d": value_types.DType,
    "t": value_types.TypeRef,
}
_PYTHON_TYPES = {
    int: plain_types.int64,
    float: plain_types.float64,
    bool: plain_types.boolean,
    complex: plain_types.complex128,
    type(None): plain_types.none,
}


def name_of(value: Any) -> str:
    """The compiler's name of a type given in any of the forms that as_type() takes: Numba's name, with the fields of named tuples.

    :raises TypeError: for what is not a type
    """
    return as_type(value).compiler_name


def _from_form(value):
    """What as_type() gives for what is no type object of ours."""
    if isinstance(value, str):
        return parse_type(value)
    if value in _PYTHON_TYPES if isinstance(value, type) else value is None:
        return _PYTHON_TYPES[type(None) if value is None else value]
    if is_numba_type(value):
        return added_types.of_numba_type(value) or _from_numba(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return of_dtype(np.dtype(value))
    raise TypeError(f"not a type: {value!r}")


def _from_numba(value):
    """The type that equals one of Numba's; of types that have no class here only the name is known."""
    if hasattr(value, "layout") and hasattr(value, "ndim"):
        return Array(
            as_type(value.dtype),
            value.ndim,
            value.layout,
            not value.mutable,
            aligned=getattr(value, "aligned", True),
        )
    if hasattr(value, "types") and hasattr(value, "count"):
        return BaseTuple.from_types(map(as_type, value.types), getattr(value, "instance_class", None))
    if hasattr(value, "dtype") and hasattr(value, "count"):
        return BaseTuple.from_types(
            [as_type(value.dtype)] * value.count, getattr(value, "instance_class", None)
        )
    if hasattr(value, "instance_class") and hasattr(value, "dtype"):
        kind = IntEnumMember if type(value).__name__ == "IntEnumMember" else EnumMember
        return kind(value.instance_class, as_type(value.dtype))
    return from_compiler(str(value.name))


def dtype_of(value: Any) -> np.dtype:
    """The NumPy dtype of what an array of such elements holds.

    :param value: a dtype, or a type in any of the forms that as_type() takes
    """
    if isinstance(value, np.dtype):
        return value
    kind = as_type(value)
    dtype = getattr(kind, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else np.dtype(str(kind))


def from_dtype(dtype: Any) -> Any:
    """The type of values of a NumPy dtype."""
    return of_dtype(np.dtype(dtype))


def evaluate(text: str) -> Any:
    """The type or signature that a string of Python makes of the names of types.

    :raises NameError, SyntaxError: as Numba does
    """
    # The text is the user's own source (a decorator argument); only type names can be reached from it.
    names = {**ALIASES, "Tuple": Tuple, "UniTuple": UniTuple, "Array": Array, "CPointer": CPointer, "voidptr": plain_types.voidptr,
             **{name: getattr(value_types, name) for name in value_types.PUBLIC}}  # fmt: skip
    names["types"] = python_types.SimpleNamespace(**names)
    try:
        return eval(text, {"__builtins__": {}}, names)  # noqa: S307
    except NameError as error:
        raise NameError(f"{text!r} is not a type or signature: {error}") from None
    except SyntaxError:
        raise SyntaxError(f'{text!r} is not a type or signature; write "void(float32[:], int32)"') from None


def parse_type(text: str) -> Type:
    """The type that a user's text stands for: "float32", "float32[:, ::1]", or a type's own name. Everything but a name is evaluated.

    :raises TypeError: for what is no type
    """
    found = _named(text)
    if found is not None:
        return found
    try:
        return evaluate(text)
    except (NameError, SyntaxError) as error:
        raise TypeError(str(error)) from None


def type_named(name: str) -> Type:
    """The type that name_of(), or str() of a type, gave this name. Nothing is evaluated: names may come from anywhere.

    :raises TypeError: for what is no name of a type
    """
    found = _named(name)
    if found is None:
        raise TypeError(f"{name!r} is not the name of a type")
    return found


def from_compiler(name: str) -> Type:
    """The type that the kernel compiler calls so; a CompilerType where there is no other class for it."""
    try:
        return type_named(name)
    except (TypeError, ValueError, SyntaxError):
        return CompilerType(name)


def _named(name):
    """As type_named(); None for what is no name of a type."""
    if name in ALIASES:
        return ALIASES[name]
    if name.endswith("*"):
        return plain_types.voidptr if name == "void*" else CPointer(type_named(name[:-1]))
    if match := re.fullmatch(_ARRAY_NAME, name):
        unaligned, readonly, element, ndim, layout = match.groups()
        return Array(type_named(element), int(ndim), layout, bool(readonly), aligned=not unaligned)
    if match := re.fullmatch(_DATE_NAME, name):
        return (NPDatetime if match[1] == "datetime" else NPTimedelta)(match[2])
    if match := re.fullmatch(_UNIFORM_TUPLE_NAME, name):
        return UniTuple(type_named(match[1]), int(match[2]))
    if match := re.fullmatch(_TUPLE_NAME, name):
        return Tuple([type_named(one) for one in _split_names(match[1] or "")])
    if name.startswith("namedtuple("):
        return _named_tuple_of(name)
    if match := re.fullmatch(_MEMBER_NAME, name):
        return (IntEnumMember if match[1] else EnumMember)(enumeration_of(name), type_named(match[2]), name)
    if name.startswith("Added("):
        return added_types.named(name)
    if name.startswith("class(Added("):
        return value_types.TypeRef(added_types.named(name[6:-1]))
    if name.startswith("Record("):
        dtype = record_names.dtype_from_name(name)
        return None if dtype is None else Record(dtype)
    return _of_value_name(name)


def _of_value_name(name):
    """The type of that name, of values that arrays do not hold; None when it is no such type's."""
    if name in value_types.SINGLE:
        return value_types.SINGLE[name]
    if match := re.fullmatch(_LITERAL_NAME, name):
        kind, value = match.groups()
        return value_types.literal(
            value if kind == "str" else value == "True" if kind == "bool" else int(value)
        )
    if match := re.fullmatch(_CHARACTERS_NAME, name):
        return (value_types.UnicodeCharSeq if match[1] == "unichr" else value_types.CharSeq)(int(match[2]))
    if match := re.fullmatch(_NESTED_NAME, name):
        return value_types.NestedArray(type_named(match[1]), ast.literal_eval(match[2]))
    if not (match := re.fullmatch(_WRAPPED_NAME, name)):
        return None
    kind, inside = match.groups()
    if kind.startswith("omitted"):
        return value_types.Omitted(ast.literal_eval(inside))
    return _WRAPPERS[kind[0]](type_named(inside))


def _named_tuple_of(name):
    """The type that named_tuple_name() gave this name; of a class like it where no such class has been seen."""
    class_name, fields = name[len("namedtuple(") : -1].split(";", 1)
    pairs = [field.partition("=") for field in _split_names(fields.strip())]
    names = tuple(field for field, _, _ in pairs)
    known = named_tuple_class(class_name, names) or collections.namedtuple(class_name, names)
    return BaseTuple.from_types([type_named(kind) for _, _, kind in pairs], known)


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


register_factories(type=_from_form)
