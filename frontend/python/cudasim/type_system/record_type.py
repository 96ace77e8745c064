"""The type of structured scalars, and of elements of structured arrays."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from cudasim import types
from cudasim.type_system import record_names

if TYPE_CHECKING:
    from typing import Any

_Field = collections.namedtuple("_Field", "type offset alignment title")


class Record(types.Type):
    """A structured scalar; its name says what its fields are (cudasim.type_system.record_names)."""

    def __init__(self, fields: np.dtype, size: Any = None, aligned: bool = False) -> None:
        """
        :param fields: the structured numpy.dtype; or (name, {"type": type, "offset": bytes}) of each field
        :param size: in bytes, where `fields` is no dtype
        """
        self.dtype = fields if isinstance(fields, np.dtype) else _dtype_of(fields, size, aligned)
        self.size, self.aligned = self.dtype.itemsize, self.dtype.isalignedstruct
        super().__init__(record_names.record_name(self.dtype))

    @classmethod
    def make_c_struct(cls, name_types: Any) -> Any:
        """A record whose fields, (name, type) pairs, lie as C puts them."""
        names, kinds = zip(*name_types)
        return cls(
            np.dtype({"names": list(names), "formats": [_element_dtype(kind) for kind in kinds]}, align=True)
        )

    @property
    def bitwidth(self) -> Any:
        return self.size * 8

    @property
    def fields(self) -> Any:
        """Name → (type, offset, alignment, title)."""
        return {name: _Field(_field_type(dtype), offset, dtype.alignment if self.aligned else None, title[0] if title else None)
                for name, (dtype, offset, *title) in self.dtype.fields.items()}  # fmt: skip

    @property
    def members(self) -> Any:
        """(name, type) of each field, in order of their offsets."""
        return [
            (name, field.type)
            for name, field in sorted(self.fields.items(), key=lambda known: known[1].offset)
        ]

    def __len__(self) -> int:
        return len(self.dtype.fields)

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


def _dtype_of(fields, size, aligned):
    described = [(name, field if isinstance(field, dict) else field._asdict()) for name, field in fields]
    return np.dtype({"names": [name for name, _ in described],
                     "formats": [_element_dtype(field["type"]) for _, field in described],
                     "offsets": [field["offset"] for _, field in described],
                     "itemsize": size}, align=aligned)  # fmt: skip


def _element_dtype(kind):
    if isinstance(kind, types.Array):
        return np.dtype((kind.dtype.dtype, kind.shape))
    return kind.dtype


def _field_type(dtype):
    return Record(dtype) if dtype.names is not None else types.parse_type(record_names.dtype_name(dtype))
