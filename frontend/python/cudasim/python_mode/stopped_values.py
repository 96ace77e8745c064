"""Values of a stopped thread's variables in Python mode, as the engine has those of compiled kernels: bytes and a description of
their type (simulator/jit/debug_types.h). cudasim._pyfiber calls these functions (frontend/pyfiber/stops.cpp).
"""

from __future__ import annotations

import functools
import json
import struct
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _pyfiber
from cudasim.python_mode.values import kernel_types, scalar
from cudasim.type_system.array_layout import extent_in_bytes, layout_of, lowest_offset
from cudasim.type_system.typeof import array_type

if TYPE_CHECKING:
    from typing import Any

    #: (type in JSON, bytes or None, repr() of what has no bytes; of what refers to memory: bytes of an
    #: element, dimensions, address of the lowest byte, bytes from there on)
    Description = tuple[str, bytes | None, str, int, int, int, int]

_dtypes = {kind: dtype for dtype, kind in kernel_types.items()}
_plain_dtypes = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}  # fmt: skip
_KINDS = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}
_INT64 = {"kind": "signed", "name": "int64", "bytes": 8}
_BFLOAT16 = json.dumps({"kind": "float", "name": "bfloat16", "bytes": 2})


def described(value: Any) -> Description:
    """A value of a kernel's variable."""
    kind = type(value)
    if kind is _pyfiber.KernelArray:
        return _array(np.asarray(value))
    if kind is _pyfiber.KernelRecord:
        view = np.asarray(value)
        address = view.ctypes.data
        pointer = {"kind": "pointer", "to": _type_of(view.dtype)}
        return json.dumps(pointer), struct.pack("<Q", address), "", view.itemsize, 0, address, view.itemsize
    if kind is _pyfiber.bfloat16:
        return _BFLOAT16, np.float32(float(value)).tobytes()[2:], "", 0, 0, 0, 0
    number = _number(value)
    if number is not None:
        return _type_text(number.dtype), number.tobytes(), "", 0, 0, 0, 0
    if kind is tuple:
        members = [_number(each) for each in value]
        if value and all(member is not None for member in members):
            return _tuple(members)
    return json.dumps({"kind": "unknown", "name": kind.__qualname__}), None, repr(value), 0, 0, 0, 0


def restored(value: Any, data: bytes) -> Any:
    """A value of the same type as this one, made of bytes; None where there is none: an array, an object, or another size."""
    if type(value) is _pyfiber.bfloat16 and len(data) == 2:
        return _pyfiber.bfloat16(float(np.frombuffer(b"\0\0" + data, np.float32)[0]))
    number = _number(value)
    if number is None or len(data) != number.dtype.itemsize:
        return None
    made = np.frombuffer(data, number.dtype)[0]
    if type(value) in _plain_dtypes:
        return type(value)(made)
    return made if type(value) not in _dtypes else scalar(number.dtype, made.item())


def _number(value):
    """A NumPy scalar for a number, a date or characters; else None."""
    kind = type(value)
    dtype = _dtypes.get(kind) or _plain_dtypes.get(kind)
    if dtype is None:
        return value if isinstance(value, np.generic) and value.dtype.kind in "biufcMmSU" else None
    try:
        return np.array(value, dtype)[()]
    except OverflowError:  # an int of more than 64 bits, or a uint64
        return np.uint64(value) if 0 <= value < 2**64 else None


def _array(view: np.ndarray) -> Description:
    size = extent_in_bytes(view.shape, view.strides, view.itemsize)
    address = view.ctypes.data
    lowest = address + (lowest_offset(view.shape, view.strides) if size else 0)
    data = struct.pack(f"<Q{2 * view.ndim}q", address, *view.shape, *view.strides)
    layout = layout_of(view.shape, view.strides, view.itemsize)
    return _array_type(view.dtype, view.ndim, layout), data, "", view.itemsize, view.ndim, lowest, size


@functools.lru_cache(maxsize=256)
def _array_type(dtype, dimensions, layout):
    extents = {"kind": "sequence", "length": dimensions, "of": _INT64}
    members = [
        ["data", 0, {"kind": "pointer", "to": _type_of(dtype)}],
        ["shape", 8, extents],
        ["strides", 8 + 8 * dimensions, extents],
    ]
    kind = array_type(dtype, dimensions, layout)
    name = f"array({dtype}, {dimensions}d, {layout})" if kind is None else kind.compiler_name
    return json.dumps({"kind": "struct", "name": name, "bytes": 8 + 16 * dimensions, "members": members})


@functools.lru_cache(maxsize=256)
def _type_text(dtype):
    return json.dumps(_type_of(dtype))


def _type_of(dtype):
    """A numpy.dtype as debug information describes it."""
    if dtype.subdtype is not None:
        element, shape = dtype.subdtype
        described = _type_of(element)
        for length in reversed(shape):
            described = {"kind": "sequence", "length": length, "of": described}
        return described
    if dtype.names is not None:
        members = [[name, dtype.fields[name][1], _type_of(dtype.fields[name][0])] for name in dtype.names]
        return {"kind": "struct", "name": "Record", "bytes": dtype.itemsize, "members": members}
    if dtype.kind in "SU":
        width = 1 if dtype.kind == "S" else 4
        character = {"kind": "character", "name": "character", "bytes": width}
        return {"kind": "sequence", "length": dtype.itemsize // width, "of": character}
    if dtype.name == "bfloat16":
        return json.loads(_BFLOAT16)
    return {"kind": _KINDS.get(dtype.kind, "signed"), "name": dtype.name, "bytes": dtype.itemsize}


def _tuple(members: list[Any]) -> Description:
    fields, data = [], b""
    for index, member in enumerate(members):
        fields.append([f"f{index}", len(data), _type_of(member.dtype)])
        data += member.tobytes()
    described = {"kind": "struct", "name": "tuple", "bytes": len(data), "members": fields}
    return json.dumps(described), data, "", 0, 0, 0, 0
