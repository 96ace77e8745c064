"""Types of what NumPy arrays hold besides numbers: records, arrays in them, characters; and the type of any dtype."""

from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING

import numpy as np

from cudasim.type_system import record_names
from cudasim.type_system.container_types import Array
from cudasim.type_system.scalar_types import ALIASES, NPDatetime, NPTimedelta, Type, as_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_RecordField = collections.namedtuple("_RecordField", "type offset alignment title")


class Record(Type):
    """A structured scalar; its name says what its fields are (cudasim.type_system.record_names)."""

    mutable = True

    def __init__(
        self, fields: np.dtype | Iterable[tuple[str, Any]], size: Any = None, aligned: bool = False
    ) -> None:
        """
        :param fields: the structured numpy.dtype; or (name, {"type": type, "offset": bytes}) of each field
        :param size: in bytes, where `fields` is no dtype
        """
        self._alignments: dict[str, int] = {}
        if isinstance(fields, np.dtype):
            self.dtype = fields
        else:
            known = [(name, field if isinstance(field, dict) else field._asdict()) for name, field in fields]
            self.dtype = _dtype_of(known, size, aligned)
            self._alignments = {name: field["alignment"] for name, field in known if field.get("alignment")}
        self.size, self.aligned = self.dtype.itemsize, self.dtype.isalignedstruct
        super().__init__(self._numba_name())

    def _numba_name(self):
        if not self._alignments:
            return record_names.record_name(self.dtype)
        shown = ",".join(
            f"{name}[type={field.type};offset={field.offset}"
            + (f";alignment={field.alignment}" if field.alignment else "")
            + (f";title={field.title}" if field.title else "")
            + "]"
            for name, field in self._ordered()
        )
        return f"Record({shown};{self.size};{self.aligned})"

    def __repr__(self) -> str:
        shown = ", ".join(
            f"({name!r}, {{'type': {field.type!r}, 'offset': {field.offset}, 'alignment': {field.alignment}, "
            f"'title': {field.title}, }})"
            for name, field in self._ordered()
        )
        return f"Record([{shown}], {self.size}, {self.aligned})"

    @property
    def compiler_name(self) -> str:
        """Without alignments of fields."""
        return record_names.record_name(self.dtype)

    @classmethod
    def make_c_struct(cls, name_types: Any) -> Any:
        """A record whose fields, (name, type) pairs, lie as C puts them."""
        names, kinds = zip(*name_types)
        dtype = np.dtype(
            {"names": list(names), "formats": [_element_dtype(kind) for kind in kinds]}, align=True
        )
        laid_out = _fields_of(dtype)
        fields = [
            (name, {"type": kind, "offset": laid_out[name][1], "alignment": laid_out[name][0].alignment})
            for name, kind in zip(names, kinds)
        ]
        return cls(fields, dtype.itemsize, True)

    @property
    def bitwidth(self) -> Any:
        return self.size * 8

    @property
    def fields(self) -> Any:
        """Name → (type, offset, alignment, title)."""
        return {name: _RecordField(of_dtype(dtype), offset, self._alignments.get(name), title[0] if title else None)
                for name, (dtype, offset, *title) in _fields_of(self.dtype).items()}  # fmt: skip

    @property
    def members(self) -> Any:
        """(name, type) of each field, in order of their offsets."""
        return [(name, field.type) for name, field in self._ordered()]

    def _ordered(self):
        return sorted(self.fields.items(), key=lambda known: known[1].offset)

    def __len__(self) -> int:
        return len(_fields_of(self.dtype))

    def typeof(self, key: Any) -> Any:
        """The type of a field."""
        return self.fields[key].type

    def offset(self, key: Any) -> Any:
        """Where a field begins, in bytes."""
        return self.fields[key].offset

    def alignof(self, key: Any) -> Any:
        """The alignment of a field, None where the record says nothing about it."""
        return self.fields[key].alignment

    def has_titles(self) -> bool:
        """Whether any field has a title."""
        return any(field.title is not None for field in self.fields.values())

    def is_title(self, key: Any) -> bool:
        """Whether a name is a field's title."""
        return self.fields[key].title == key


def _fields_of(dtype: np.dtype) -> Mapping[str, Any]:
    """Name → (dtype, offset in bytes, title if there is one) of a structured dtype."""
    assert dtype.fields is not None, f"{dtype} is not structured"
    return dtype.fields


def _dtype_of(fields, size, aligned):
    return np.dtype({"names": [name for name, _ in fields],
                     "formats": [_element_dtype(field["type"]) for _, field in fields],
                     "offsets": [field["offset"] for _, field in fields],
                     "itemsize": size}, align=aligned)  # fmt: skip


def _element_dtype(kind: Any) -> np.dtype:
    """The dtype of a field: of a scalar's type, of a record, or of a NestedArray, which has a shape."""
    shape = getattr(kind, "shape", None)
    return kind.dtype if shape is None else np.dtype((kind.dtype.dtype, shape))


class NestedArray(Array):
    """An array that is a field of a record."""

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        self.shape = tuple(shape)
        dtype = as_type(dtype)
        if isinstance(dtype, NestedArray):
            dtype, self.shape = dtype.dtype, self.shape + dtype.shape
        super().__init__(dtype, len(self.shape), "C", name=f"nestedarray({dtype}, {self.shape})")

    def __repr__(self) -> str:
        return f"NestedArray({self.dtype!r}, {self.shape})"

    def as_elements(self, ndim: int) -> tuple[Type, int]:
        return self.dtype, ndim + self.ndim

    @property
    def compiler_name(self) -> str:
        return self.name

    @property
    def key(self) -> tuple[Any, ...]:
        return self.dtype, self.shape

    @property
    def nitems(self) -> Any:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def size(self) -> Any:
        """Of an element, in bytes."""
        return self.dtype.bitwidth // 8

    @property
    def strides(self) -> Any:
        """In bytes."""
        return tuple(self.size * math.prod(self.shape[axis + 1 :]) for axis in range(self.ndim))


class CharSeq(Type):
    """bytes of fixed length, elements of arrays of dtype S."""

    mutable = True

    def __init__(self, count: int) -> None:
        self.count, self.dtype = count, np.dtype(f"S{count}")
        super().__init__(f"[char x {count}]")

    @property
    def key(self) -> int:
        return self.count


class UnicodeCharSeq(Type):
    """Strings of fixed length, elements of arrays of dtype U."""

    mutable = True

    def __init__(self, count: int) -> None:
        self.count, self.dtype = count, np.dtype(f"U{count}")
        super().__init__(f"[unichr x {count}]")

    def __repr__(self) -> str:
        return f"UnicodeCharSeq({self.count})"

    @property
    def key(self) -> int:
        return self.count


def of_dtype(dtype: np.dtype) -> Type:
    """The type of values of a NumPy dtype; of numbers, whatever their byte order is.

    :raises TypeError: for what Numba has no type for
    """
    if dtype.names is not None:
        return Record(dtype)
    if dtype.subdtype is not None:
        element, shape = dtype.subdtype
        return NestedArray(of_dtype(element), shape)
    if dtype.kind in "Mm":
        unit = dtype.name.partition("[")[2].rstrip("]")
        return (NPDatetime if dtype.kind == "M" else NPTimedelta)(unit)
    if dtype.name in ALIASES:
        return ALIASES[dtype.name]
    if dtype.kind == "S":
        return CharSeq(dtype.itemsize)
    if dtype.kind == "U" and dtype.isnative:
        return UnicodeCharSeq(dtype.itemsize // 4)
    raise TypeError(f"cudasim has no type for the NumPy dtype {dtype}")
