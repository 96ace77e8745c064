"""Shared and local arrays of types that a program has added, in Python mode: their elements are Python objects. In the simulated memory
lies a number for each, so that races, bounds and unwritten elements are found there as ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cudasim.type_system.added_types import AddedType

_KEY = "cudasim_objects"


def dtype_of(kind: AddedType) -> np.dtype:
    """What the simulated memory has for one element: as many bytes as compiled code has, if they hold the number."""
    form: Any = {"names": ["object"], "formats": [np.int64], "itemsize": max((kind.size + 7) // 8 * 8, 8)}
    # The objects belong to the array that has this dtype.
    return np.dtype(np.dtype(form), metadata={_KEY: (kind, {})})


def as_given(metadata: Any, array: Any) -> Any:
    """An array as the kernel gets it. :param metadata: of its dtype"""
    known = metadata.get(_KEY)
    return array if known is None else ObjectArray(array["object"], *known)


class ArrayOfObjects:
    """An array whose elements the kernel sees as objects. dtype: their type."""

    def __init__(self, memory: Any, kind: AddedType) -> None:
        """
        :param memory: the array of what stands for the objects
        :param kind: their type
        """
        self._memory, self.dtype = memory, kind

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return self._memory.shape

    @property
    def ndim(self) -> int:
        """As NumPy's."""
        return self._memory.ndim

    @property
    def size(self) -> int:
        """As NumPy's."""
        return self._memory.size

    @property
    def strides(self) -> tuple[int, ...]:
        """As NumPy's."""
        return self._memory.strides

    @property
    def itemsize(self) -> int:
        """As NumPy's."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, index: Any) -> Any:
        found = self._memory[index]
        return self._like(found) if getattr(found, "shape", ()) else self._object(found)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def _like(self, memory: Any) -> Any:
        """The same of a part of the memory."""
        raise NotImplementedError

    def _object(self, found: Any) -> Any:
        """What an element stands for."""
        raise NotImplementedError


class ObjectArray(ArrayOfObjects):
    """A shared or local one, whose elements are numbers of objects."""

    def __init__(self, numbers: Any, kind: AddedType, objects: dict[int, Any]) -> None:
        """As ArrayOfObjects. :param objects: by number"""
        super().__init__(numbers, kind)
        self._objects = objects

    @property
    def itemsize(self) -> int:
        """As NumPy's."""
        return dtype_of(self.dtype).itemsize

    def _like(self, memory):
        return ObjectArray(memory, self.dtype, self._objects)

    def _object(self, found):
        try:
            return self._objects[int(found)]
        except KeyError:
            raise ValueError(
                f"an element of type {self.dtype} is read that nothing has been written to"
            ) from None

    def __setitem__(self, index: Any, value: Any) -> None:
        self._objects[id(value)] = value
        self._memory[index] = id(value)
