"""Numba's names of NumPy's dtypes, those of records included, and back:

    Record(x[type=float64;offset=0],v[type=nestedarray(int32, (2, 3));offset=8];32;False)

The number is the size in bytes; True says that the fields lie as C puts them (align=True). Fields are in the order
of their offsets. The compiler reads the same names (frontend/pykernel/types/record_types.cpp).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


import re

import numpy as np

_DATE = r"(datetime64|timedelta64)(?:\[(\w+)\])?"
_CHARACTERS = r"\[(char|unichr) x (\d+)\]"
_NESTED = r"nestedarray\((.+), (\([\d, ]+\))\)"
#: The numbers that kernels know: name → numpy.dtype.
NUMBERS = {
    name: np.dtype(name)
    for name in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
}


def dtype_name(dtype: Any) -> str:
    """Numba's name.

    :raises TypeError: for what Numba has no type for
    """
    if dtype.subdtype is not None:
        element, shape = dtype.subdtype
        return f"nestedarray({dtype_name(element)}, {shape})"
    if dtype.names is not None:
        return record_name(dtype)
    if dtype.name in NUMBERS and dtype.isnative:
        return dtype.name
    if dtype.kind in "mM" and dtype.isnative:
        return dtype.name
    if dtype.kind == "S":
        return f"[char x {dtype.itemsize}]"
    if dtype.kind == "U" and dtype.isnative:
        return f"[unichr x {dtype.itemsize // 4}]"
    raise TypeError(f"cudasim has no type for the NumPy dtype {dtype}")


def record_name(dtype: Any) -> str:
    """Of a structured dtype."""
    fields = []
    for name, (field, offset, *title) in (dtype.fields or {}).items():
        title = f";title={title[0]}" if title else ""
        fields.append((offset, f"{name}[type={dtype_name(field)};offset={offset}{title}]"))
    shown = ",".join(text for _, text in sorted(fields, key=lambda known: known[0]))
    return f"Record({shown};{dtype.itemsize};{dtype.isalignedstruct})"


def dtype_from_name(name: str) -> np.dtype | None:
    """The numpy.dtype; None for what is no name of one."""
    if name in NUMBERS:
        return NUMBERS[name]
    if name.startswith("Record("):
        return _record_from_name(name)
    if match := re.fullmatch(_NESTED, name):
        element = dtype_from_name(match[1])
        extents = tuple(int(extent) for extent in match[2].strip("()").split(",") if extent.strip())
        return None if element is None else np.dtype((element, extents))
    if match := re.fullmatch(_CHARACTERS, name):
        return np.dtype(f"{'S' if match[1] == 'char' else 'U'}{match[2]}")
    return np.dtype(name) if re.fullmatch(_DATE, name) else None


def _record_from_name(name):
    fields, size, aligned = name[len("Record(") : -1].rsplit(";", 2)
    found = {}
    while fields:
        field, _, rest = fields.partition("[type=")
        end = _end_of_bracket(rest)
        description, fields = rest[:end], rest[end + 1 :].removeprefix(",")
        type_name, _, offset = description.rpartition(";offset=")
        offset, _, title = offset.partition(";title=")
        if title != field or not title:
            found[field] = (dtype_from_name(type_name), int(offset), *([title] if title else []))
    if any(dtype is None for dtype, *_ in found.values()):
        return None
    layout: Any = {"names": list(found), "formats": [dtype for dtype, *_ in found.values()],
              "offsets": [offset for _, offset, *_ in found.values()], "itemsize": int(size)}  # fmt: skip
    if any(len(field) > 2 for field in found.values()):
        layout["titles"] = [field[2] if len(field) > 2 else None for field in found.values()]
    return np.dtype(layout, align=aligned == "True")


def _end_of_bracket(text):
    """Position of the "]" that closes a bracket opened before the text."""
    depth = 1
    for position, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if depth == 0:
            return position
    raise ValueError(f"not the name of a record: {text!r}")
