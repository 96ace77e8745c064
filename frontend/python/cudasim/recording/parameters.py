"""The arguments of a recorded launch, read from its parameter buffer by their types."""

from __future__ import annotations

import collections
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cudasim import errors, types
from cudasim.launch.arguments import struct_format
from cudasim.type_system.array_layout import extent_in_bytes, lowest_offset
from cudasim.types import type_named


class ArrayArgument(NamedTuple):
    """An array as a kernel gets it; strides in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


def numbers_of(record: Any, parameters: bytes) -> tuple:
    """The numbers that arguments.Packer packed.

    :param parameters: the record's, or those of a restored launch
    """
    return struct.unpack_from(
        "@" + struct_format([type_named(name) for _, name in record.arguments]), parameters
    )


def arguments_of(record: Any) -> list[tuple[str, str, Any]]:
    """(name, type's name, value) of each argument: ArrayArguments, numbers, tuples of them, addresses of records.

    Empty for launches whose types are not known: those of a module's functions (cuLaunchKernel).

    :raises errors.RecordError: for types that no kernel's arguments have
    """
    try:
        return _arguments(record)
    except (
        ValueError,
        TypeError,
        AttributeError,
        StopIteration,
        RecursionError,
        struct.error,
        SyntaxError,
    ) as error:
        raise errors.RecordError(f"the types of a launch in the record are malformed: {error}") from None


def _arguments(record: Any) -> list[tuple[str, str, Any]]:
    numbers = iter(numbers_of(record, record.parameters))
    return [(name, kind, _value(type_named(kind), numbers)) for name, kind in record.arguments]


def _value(kind: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(kind, types.Array):
        address, rest = next(numbers), [next(numbers) for _ in range(2 * kind.ndim)]
        return ArrayArgument(
            address, tuple(rest[: kind.ndim]), tuple(rest[kind.ndim :]), types.dtype_of(kind.dtype)
        )
    if isinstance(kind, types.BaseTuple):
        return tuple(_value(element, numbers) for element in kind.types)
    if isinstance(kind, (types.NPDatetime, types.NPTimedelta)):
        return np.int64(next(numbers)).view(kind.dtype)
    dtype = getattr(kind, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        return dtype.type(complex(next(numbers), next(numbers)))
    value = next(numbers)
    return dtype.type(value) if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else value


def placeholder(kind: Any) -> Any:
    """Something of a type's form, where only the form matters: a named tuple's class."""
    if isinstance(kind, types.BaseTuple):
        elements = [placeholder(element) for element in kind.types]
        if isinstance(kind, types.BaseNamedTuple):
            return collections.namedtuple("Argument", kind.fields)(*elements)
        return tuple(elements)
    return None


def elements_of(record: Any, array: ArrayArgument, after: bool = False) -> np.ndarray | None:
    """An array's elements as they were when the launch began (or ended); None where they were not recorded."""
    low = array.address + lowest_offset(array.shape, array.strides)
    end = low + extent_in_bytes(array.shape, array.strides, array.dtype.itemsize)
    for index, memory in enumerate(record.memory):
        first = memory["address"]
        if not first <= low or end > first + memory["bytes"]:
            continue
        content = record.content(index, after)
        if not content:
            continue
        return np.ndarray(array.shape, array.dtype, content, array.address - first, array.strides)
    return np.empty(array.shape, array.dtype) if 0 in array.shape else None
