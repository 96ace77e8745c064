"""Types of a program's own, made with Numba's extension API: types whose data model the program has registered.

What the kernel compiler needs of one is how its values lie in memory: numbers at places. That is said by its name
(frontend/pykernel/types/added_types.cpp), with a number by which the type is found again.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from cudasim.type_system.scalar_types import Type

if TYPE_CHECKING:
    from typing import Any

#: Packages whose classes are none of a program's own.
OTHERS = ("numba", "numba_cuda", "cudasim", "builtins")
#: Numba's types, and ours for them: a type's place is its number.
_known: list[Any] = []
_numbers: dict[Any, int] = {}


class AddedType(Type):
    """One of them. numba_type: the program's object. size: bytes of a value in memory. parts: (name, name of its type, place) of
    each number in a value, whose types are those of LLVM: signed integers, floats, bool; uint64 for pointers."""

    def __init__(self, number: int, numba_type: Any, size: int, parts: tuple[Any, ...]) -> None:
        super().__init__(str(numba_type))
        self.number, self.numba_type, self.size, self.parts = number, numba_type, size, parts

    @property
    def compiler_name(self) -> str:
        parts = "|".join(f"{escaped(name)}:{kind}:{place}" for name, kind, place in self.parts)
        return f"Added({self.number};{self.size};{parts};{escaped(self.name)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return of_numba_type, (self.numba_type,)


def escaped(text: str) -> str:
    """The text as the kernel compiler has it in names of types."""
    return re.sub(
        r"[^A-Za-z0-9_.]", lambda match: "".join(f"%{byte:02x}" for byte in match[0].encode()), text
    )


def of_numba_type(value: Any) -> AddedType | None:
    """The AddedType of a type of Numba's kind whose class is a program's own, or None: for Numba's own types, and where the
    program has registered no data model.

    :raises TypeError: for data models whose values do not lie in memory as numbers
    """
    if type(value).__module__.partition(".")[0] in OTHERS:
        return None
    if value in _numbers:
        return _known[_numbers[value]]
    managers = sys.modules.get("numba.core.datamodel")
    if managers is None or type(value) not in managers.default_manager._handlers:
        return None
    model = managers.default_manager.lookup(value)
    size, _, parts = _layout(model, value)
    number = _numbers[value] = len(_known)
    _known.append(AddedType(number, value, size, tuple(parts)))
    return _known[number]


def named(name: str) -> AddedType | None:
    """The one that has this compiler_name."""
    match = re.match(r"Added\((\d+);", name)
    number = int(match[1]) if match else len(_known)
    return _known[number] if number < len(_known) and _known[number].compiler_name == name else None


def type_of_class(value: Any) -> AddedType | None:
    """The one that a class of types stands for which has only one; None for anything else."""
    if not isinstance(value, type) or not any(
        base.__module__ == "numba.core.types.abstract" for base in value.__mro__
    ):
        return None
    try:
        return of_numba_type(value())
    except TypeError:  # it takes parameters
        return None


def is_added(kind: Any) -> bool:
    """Whether it is such a type, or holds one."""
    if isinstance(kind, AddedType):
        return True
    inside = getattr(kind, "types", None) or (getattr(kind, "dtype", None), getattr(kind, "type", None))
    return any(is_added(each) for each in inside if isinstance(each, Type))


def _layout(model, kind):
    """(bytes, alignment, parts) of values of a data model."""
    names = getattr(model, "_fields", ())
    values = list(_leaves(model.get_value_type(), ()))
    end, alignment, leaves = _placed(model.get_data_type(), (), 0)
    if [path for path, _ in values] != [path for path, _, _ in leaves]:
        raise TypeError(
            f"the data model {type(model).__name__} of {kind} has values ({model.get_value_type()}) that lie in memory as something "
            f"else ({model.get_data_type()})"
        )
    parts = []
    for (path, value), (_, _, place) in zip(values, leaves):
        first = [names[path[0]]] if path and path[0] < len(names) else list(map(str, path[:1]))
        name = ".".join(first + list(map(str, path[1:]))) or "value"
        parts.append((name, _number_of(value, kind), place))
    return _rounded(end, alignment), alignment, parts


def _rounded(place, alignment):
    return (place + alignment - 1) // alignment * alignment


def _elements(llvm_type):
    """The types of an aggregate's elements, or None for anything else."""
    return list(llvm_type.elements) if hasattr(llvm_type, "elements") else None


def _leaves(llvm_type, path):
    inside = _elements(llvm_type)
    if inside is None:
        yield path, llvm_type
    else:
        for index, element in enumerate(inside):
            yield from _leaves(element, (*path, index))


def _placed(llvm_type, path, begin):
    """(end, alignment, [(path, type, place)]) as LLVM lays out a value that begins there: with natural alignments."""
    inside = _elements(llvm_type)
    if inside is None:
        size = _size(llvm_type)
        return begin + size, size, [(path, llvm_type, begin)]
    place, largest, leaves = begin, 1, []
    for index, element in enumerate(inside):
        alignment = _alignment(element)
        place = _rounded(place, alignment)
        place, _, found = _placed(element, (*path, index), place)
        largest = max(largest, alignment)
        leaves += found
    return _rounded(place, largest), largest, leaves


def _alignment(llvm_type):
    inside = _elements(llvm_type)
    return _size(llvm_type) if inside is None else max(map(_alignment, inside), default=1)


def _size(llvm_type):
    kind = _number_of(llvm_type, llvm_type)
    return 1 if kind == "bool" else int(re.sub(r"\D", "", kind)) // 8


def _number_of(llvm_type, kind):
    """The name of the type of numbers that has the bits of one of LLVM's types."""
    name = type(llvm_type).__name__
    if any(base.__name__ == "PointerType" for base in type(llvm_type).__mro__):
        return "uint64"
    if name == "IntType" and llvm_type.width in (1, 8, 16, 32, 64):
        return "bool" if llvm_type.width == 1 else f"int{llvm_type.width}"
    found = {"HalfType": "float16", "FloatType": "float32", "DoubleType": "float64"}.get(name)
    if found is None:
        raise TypeError(
            f"the data model of {kind} has a member of LLVM's type {llvm_type}, which kernels cannot have"
        )
    return found
