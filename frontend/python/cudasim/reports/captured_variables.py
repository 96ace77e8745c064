"""Values of a compiled kernel's variables at a fault, as Python values for the frames of its traceback.

The engine hands over bytes and a description of the type in JSON, made from debug info (simulator/jit/debug_types.h).
Arrays come as read-only NumPy arrays: copies of their elements, those in shared and local memory as of the fault, those in
global memory as the launch left them.
"""

from __future__ import annotations

import json
import struct
from collections import namedtuple
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any


class Unavailable:
    """Stands for a value that is not known."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return f"<{self._text}>"


class Described:
    """Stands for a value of Python mode that is no number and no array."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


OPTIMIZED_OUT = Unavailable("optimized out")


def values_in_frame(variables: tuple[dict[str, Any], ...], frame: int) -> dict[str, np.ndarray]:
    """{name: value} of one function of the call chain, its arguments first, and how many of them are arguments.

    :param variables: Finding.variables
    :param frame: index into Finding.location
    """
    here = [variable for variable in variables if variable["frame"] == frame]
    here.sort(key=lambda variable: variable["argument"] or len(here) + 1)
    return {variable["name"]: _value(variable) for variable in here}


def argument_names(variables: tuple[dict[str, Any], ...], frame: int) -> list[str]:
    """The names of the function's arguments among them, in order."""
    numbered = {
        variable["argument"]: variable["name"]
        for variable in variables
        if variable["frame"] == frame and variable["argument"]
    }
    return [numbered[number] for number in sorted(numbered)]


def _value(variable):
    if "text" in variable:
        return Described(variable["text"])
    if variable["value"] is None:
        return OPTIMIZED_OUT
    try:
        return _decoded(_parsed(variable["type"]), variable["value"], variable)
    except (ValueError, TypeError, KeyError, struct.error):
        return OPTIMIZED_OUT


@lru_cache(maxsize=1024)
def _parsed(text):
    return json.loads(text)


def _decoded(kind, data, variable):
    """The value of bytes of a type; `variable` has the memory that they refer to."""
    what = kind["kind"]
    if what == "alias":
        return _decoded(kind["of"], data, variable)
    if what == "pointer":
        return _pointed_to(kind["to"], variable)
    if what == "struct":
        return _decoded_struct(kind, data, variable)
    if what == "unknown":
        return OPTIMIZED_OUT
    value = np.frombuffer(data, _dtype(kind), 1)[0]
    if kind.get("name") == "bfloat16":
        return np.frombuffer(b"\0\0" + data[:2], np.float32)[0]
    return (
        value.item()
        if what in ("signed", "unsigned", "bool") and value.dtype.kind in "iub"
        else _plain(value)
    )


def _plain(value):
    """Python's own types where they have the kernel's precision."""
    return value.item() if value.dtype in (np.float64, np.complex128) or value.dtype.kind in "SU" else value


def _decoded_struct(kind, data, variable):
    members = {name: (offset, of) for name, offset, of in kind["members"]}
    if {"data", "shape", "strides"} <= members.keys():
        return _array(kind, members, data, variable)
    values = {name: _decoded(of, data[offset:], {}) for name, (offset, of) in members.items()}
    if kind["name"].startswith("range") and {"start", "stop", "step"} == values.keys():
        return range(values["start"], values["stop"], values["step"])
    if "present" in values:
        return tuple(values.values())[1] if values["present"] else None
    class_name = kind["name"].partition("(")[0]
    if class_name not in ("Tuple", "UniTuple") and class_name.isidentifier():
        return _named_tuple(class_name, tuple(values))(*values.values())
    return tuple(values.values())


@lru_cache(maxsize=64)
def _named_tuple(name, fields):
    return namedtuple(name, fields, rename=True)


def _array(kind, members, data, variable):
    shape, strides = (
        struct.unpack_from(f"<{members[name][1]['length']}q", data, members[name][0])
        for name in ("shape", "strides")
    )
    dtype = _dtype(members["data"][1]["to"])
    if 0 in shape:
        return np.empty(shape, dtype)
    if variable.get("contents") is None:
        return Unavailable(f"{kind['name']} of shape {shape}: not kept")
    (address,) = struct.unpack_from("<Q", data, members["data"][0])
    first = address - variable["contents_address"] if variable["contents_address"] else 0
    return np.ndarray(shape, dtype, variable["contents"], first, strides)


def _pointed_to(kind, variable):
    if variable.get("contents") is None:
        return OPTIMIZED_OUT
    return np.ndarray((), _dtype(kind), variable["contents"])[()]


_CODES = {"signed": "i", "unsigned": "u", "float": "f", "complex": "c"}


def _dtype(kind):
    what, name = kind["kind"], kind.get("name", "")
    if what == "alias":
        return _dtype(kind["of"])
    if what == "bool":
        return np.dtype(bool)
    if what == "sequence" and kind["of"]["kind"] == "character":
        return np.dtype(f"{'S' if kind['of']['bytes'] == 1 else 'U'}{kind['length']}")
    if what == "sequence":
        return np.dtype((_dtype(kind["of"]), (kind["length"],)))
    if what == "struct":
        names, offsets, types = zip(*kind["members"])
        formats = [_dtype(of) for of in types]
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": kind["bytes"]})
    if name.startswith(("datetime64", "timedelta64")):
        return np.dtype(name)
    if name == "bfloat16":
        return np.dtype(np.uint16)
    return np.dtype(f"{_CODES[what]}{kind['bytes']}")
