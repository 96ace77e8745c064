"""Arguments of kernels whose types a program has added (type_system/added_types.py): the object that the program passes, and the
numbers that an extension of @cuda.jit makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim import types
from cudasim.memory.array_interface import as_cuda_array, is_cuda_array
from cudasim.type_system.added_types import AddedType
from cudasim.type_system.typeof import as_elements_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class AddedArgument:
    """One of them.

    kind: its AddedType. value: the program's object, which Python mode gives to the kernel. prepared: what the extensions have made of
    it: numbers, arrays and tuples of them, as the data model has them."""

    def __init__(self, kind: AddedType, value: Any, prepared: Any) -> None:
        self.kind, self.value, self.prepared = kind, value, prepared

    def __cudasim_typeof__(self) -> AddedType:
        return self.kind

    def numbers(self, parameters_of: Callable[[Any], list[Any]]) -> list[Any]:
        """A number for each part of a value of the type.

        :param parameters_of: array → its address, extents and strides
        :raises NotImplementedError: when no extension has made anything of the object, as in Numba
        :raises TypeError: for another count of numbers than the data model has
        """
        if self.prepared is self.value and not isinstance(self.value, (int, float, complex, np.generic)):
            raise unknown(self.kind, self.value)
        given = list(_flat(self.prepared, parameters_of))
        if len(given) != len(self.kind.parts):
            parts = ", ".join(f"{name}: {number}" for name, number, _ in self.kind.parts)
            raise TypeError(
                f"an argument of type {self.kind} is {len(self.kind.parts)} numbers ({parts}); prepare_args() of the kernel's extensions "
                f"has given {len(given)}"
            )
        return [_CONVERTERS[number](value) for value, (_, number, _) in zip(given, self.kind.parts)]


class AddedArray:
    """An array whose elements have a type that a program has added.

    kind: its type. array: on the device, or the host's, as NumPy has it"""

    def __init__(self, kind: types.Array, array: Any) -> None:
        """
        :raises TypeError: for what is no array, and where its elements cannot be values of the type
        """
        if not (isinstance(array, np.ndarray) or is_cuda_array(array)):
            raise TypeError(
                f"an argument of type {kind} is an array; prepare_args() of the kernel's extensions has given a {type(array).__name__}"
            )
        self.array = array if isinstance(array, np.ndarray) else as_cuda_array(array)
        self.kind = as_elements_of(kind, self.array)

    def __cudasim_typeof__(self) -> types.Array:
        return self.kind


def unknown(kind: AddedType, value: Any) -> NotImplementedError:
    """The error for an object of a type that a program has added, of which no extension says what a kernel gets."""
    return NotImplementedError(
        f"{kind}, {type(value).__name__}: no object in extensions=[...] of @cuda.jit has a prepare_args() that makes numbers of a "
        f"{type(value).__name__}"
    )


def _flat(value, parameters_of):
    if isinstance(value, tuple):
        for element in value:
            yield from _flat(element, parameters_of)
    elif isinstance(value, (complex, np.complexfloating)):
        yield from (value.real, value.imag)
    elif hasattr(value, "shape") and not isinstance(value, np.generic):
        # Numba's structure: owner, elements, bytes of one, address, extents, strides.
        address, *layout = parameters_of(value)
        yield from (0, 0, value.size, value.dtype.itemsize, address, *layout)
    else:
        yield value


def _integer(bits, signed):
    end = 1 << bits

    def convert(value):
        value = int(value) % end
        return value - end if signed and value >= end >> 1 else value

    return convert


_CONVERTERS = {
    "bool": bool,
    "uint64": _integer(64, False),
    **{f"int{bits}": _integer(bits, True) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": float for bits in (16, 32, 64)},
}


def format_of(kind: AddedType, formats: dict[types.Type, str]) -> str:
    """The struct format of a value in a parameter buffer. :param formats: of numbers"""
    return "".join(formats[types.ALIASES[number]] for _, number, _ in kind.parts)
