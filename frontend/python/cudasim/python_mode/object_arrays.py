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


class ObjectArray:
    """An array of objects."""

    def __init__(self, numbers: Any, kind: AddedType, objects: dict[int, Any]) -> None:
        """
        :param numbers: the array of what stands for the objects
        :param kind: the elements' type
        """
        self._numbers, self.dtype, self._objects = numbers, kind, objects

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return self._numbers.shape

    @property
    def ndim(self) -> int:
        """As NumPy's."""
        return self._numbers.ndim

    @property
    def size(self) -> int:
        """As NumPy's."""
        return self._numbers.size

    @property
    def strides(self) -> tuple[int, ...]:
        """As NumPy's."""
        return self._numbers.strides

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        found = self._numbers[index]
        if hasattr(found, "shape") and found.shape:
            return ObjectArray(found, self.dtype, self._objects)
        try:
            return self._objects[int(found)]
        except KeyError:
            raise ValueError(
                f"an element of type {self.dtype} is read that nothing has been written to"
            ) from None

    def __setitem__(self, index: Any, value: Any) -> None:
        self._objects[id(value)] = value
        self._numbers[index] = id(value)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))
