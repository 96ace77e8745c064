"""Elements of arrays whose type a program has added, in Python mode: in memory they are records, and the kernel reads and writes objects of
the program's class, as compiled kernels have values of the type."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from cudasim.compile import overloads
from cudasim.python_mode.object_arrays import ArrayOfObjects
from cudasim.type_system.registered_types import classes_of_programs, registered_type

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    from cudasim.type_system.added_types import AddedType


def boxed(array: Any, kind: AddedType) -> Any:
    """The array as the kernel gets it: where there is no such class, with its records.

    :param kind: of its elements
    """
    boxing = _boxing(kind, array.dtype)
    return array if boxing is None else BoxedArray(array, kind, *boxing)


class BoxedArray(ArrayOfObjects):
    """An array of records that stand for objects."""

    def __init__(self, records: Any, kind: AddedType, owner: type, fields: dict[str, str]) -> None:
        """
        :param owner: the class of the objects
        :param fields: attribute of an object → field of a record
        """
        super().__init__(records, kind)
        self._owner, self._fields = owner, fields

    @property
    def itemsize(self) -> int:
        """As NumPy's."""
        return self._memory.dtype.itemsize

    def _like(self, memory):
        return BoxedArray(memory, self.dtype, self._owner, self._fields)

    def _object(self, found):
        return _made(self._owner, {name: getattr(found, field) for name, field in self._fields.items()})

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(value, self._owner):
            self._memory[index] = value
            return
        record = self._memory[index]
        for name, field in self._fields.items():
            setattr(record, field, getattr(value, name))


def _made(owner, attributes):
    made = owner.__new__(owner)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


@functools.lru_cache(maxsize=256)
def _boxing(kind: AddedType, dtype: np.dtype[Any]) -> Any:
    """(Class, attribute → field of a record): the class whose objects have this type when they have nothing but the type's members as
    attributes; None where there is no such class."""
    places = {offset: name for name, (_, offset, *_) in (dtype.fields or {}).items()}
    fields = {name: places.get(place) for name, _, place in kind.parts}
    known = all(fields.values()) and all(overloads.added_attribute(kind.numba_type, name) for name in fields)
    for owner in classes_of_programs() if known else ():
        try:
            if registered_type(_made(owner, dict.fromkeys(fields, 0))) == kind.numba_type:
                return owner, fields
        except Exception:  # whatever the program's classes raise: then it is none of them
            continue
    return None
