"""Which type a value has as an argument of a kernel: Numba's rules.

Python's and NumPy's values are known here. Classes of this package answer for themselves, by the method `__cudasim_typeof__`.
For objects that follow some other protocol a room further up registers how to answer.
"""

from __future__ import annotations

import array
import enum
import numbers
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from cudasim import errors, types
from cudasim.type_system.array_compatibility import check_contiguous
from cudasim.type_system.array_layout import array_type_name
from cudasim.type_system.record_names import NUMBERS
from cudasim.type_system.registered_types import registered_type

_protocols: list[tuple[Callable[[Any], bool], Callable[[Any], str]]] = []


def register_protocol(follows: Callable[[Any], bool], type_of: Callable[[Any], str]) -> None:
    """For values of any class, asked for when nothing else is known of a value.

    :param follows: value → whether it follows the protocol
    :param type_of: such a value → Numba's name of its type
    """
    _protocols.append((follows, type_of))


#: Numba has types for these, but launches cannot pass them: NotImplementedError, as with a GPU.
_NOT_PASSED = (
    type(None), str, bytes, bytearray, memoryview, array.array, list, set, slice, type(...), np.dtype, enum.Enum
)  # fmt: skip


def type_name(value: Any) -> str:
    """Numba's name of the type of a kernel argument.

    :raises ValueError: for values without a Numba type, integers that are too large, strided host arrays
    :raises NotImplementedError: for values that have a Numba type but cannot be passed to a kernel
    """
    kind = type(value)
    if kind is bool or kind is np.bool_:
        return "bool"
    own = getattr(kind, "__cudasim_typeof__", None)
    if own is not None:
        return own(value)
    if isinstance(value, np.ndarray):
        return host_array_type(value)
    if isinstance(value, np.generic):
        return _numpy_scalar_type(value)
    if (
        isinstance(value, enum.Enum)
        and not isinstance(value, enum.Flag)
        and isinstance(value.value, (int, float))
    ):
        return _member_type(value)
    if isinstance(value, numbers.Integral):
        return _integer_type(int(value))
    if isinstance(value, float):
        return "float64"
    if isinstance(value, complex):
        return "complex128"
    if isinstance(value, tuple):
        names = [type_name(element) for element in value]
        fields = getattr(value, "_fields", None)
        return types.tuple_name(names) if fields is None else types.name_of_named_tuples(kind, names)
    for follows, type_of in _protocols:
        if follows(value):
            return type_of(value)
    registered = getattr(registered_type(value), "name", None)
    if registered in NUMBERS:
        return registered
    what = "None" if value is None else f"a value of {kind}"
    if isinstance(value, _NOT_PASSED):
        raise NotImplementedError(f"{what} cannot be passed to a kernel; {_PASSED}")
    raise ValueError(f"Cannot determine Numba type of {kind}; {_PASSED}")


_PASSED = "a kernel takes numbers, records, NumPy arrays, device arrays and tuples of them"


def _member_type(member):
    return types.member_type_name(type(member), [type_name(one.value) for one in type(member)])


def _integer_type(value):
    if -(1 << 63) <= value < 1 << 63:
        return "int64"
    if 0 <= value < 1 << 64:
        return "uint64"
    raise ValueError(f"Int value is too large: {value} does not fit in 64 bits")


def _numpy_scalar_type(value):
    if value.dtype.names is not None and value.dtype.isnative:
        return types.name_of(value.dtype)
    if value.dtype.name not in types.ALIASES:
        if value.dtype.kind in "Mm" and value.dtype.isnative:
            return types.name_of(value.dtype)
        if value.dtype.kind in "SU":
            raise NotImplementedError(f"a value of {type(value)} cannot be passed to a kernel; {_PASSED}")
        if _only_in_python_mode(value.dtype):
            return value.dtype.name
        raise _unsupported_dtype("scalar", value.dtype)
    if value.dtype.name == "bfloat16":
        raise NotImplementedError(
            f"a value of {type(value)} cannot be passed to a kernel; pass its bits, as int16"
        )
    return types.ALIASES[value.dtype.name].name


def _only_in_python_mode(dtype):
    """Whether Numba has a type for it, and the compiler does not yet: characters, units such as 25 seconds."""
    return dtype.isnative and dtype.kind in "MmSU"


def _unsupported_dtype(what, dtype):
    """The error for a dtype that no kernel can have: Numba's class where Numba refuses it too."""
    if not dtype.isnative:
        return errors.NumbaValueError(
            f"Unsupported {what} dtype: {dtype.str}; kernels take this machine's byte order: convert it with "
            ".astype(a.dtype.newbyteorder('='))"
        )
    if dtype.kind in "SUV":
        return errors.UnsupportedError(f"a kernel argument of dtype {dtype} is not supported yet")
    return errors.NumbaValueError(f"Unsupported {what} dtype: {dtype}")


def array_type(array: Any, layout: str) -> str:
    """Numba's name of the type of arrays with the dtype and the dimensions of this one."""
    name = array_type_name(array.dtype, array.ndim, layout)
    if name is None and _only_in_python_mode(array.dtype):
        return f"array({array.dtype.name}, {array.ndim}d, {layout})"
    if name is None:
        raise _unsupported_dtype("array", array.dtype)
    return name


def host_array_type(array: np.ndarray) -> str:
    """Numba's name of the type of an array of NumPy's.

    :raises ValueError: for strided arrays; axes along which an array repeats itself (np.broadcast_to) do not count
    """
    masked = sys.modules.get("numpy.ma")  # not np.ma: that would import it, 10 ms of a first launch
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise errors.NumbaTypeError(
            "Unsupported array type: numpy.ma.MaskedArray; pass its data and its mask"
        )
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else None
    if layout is None:
        check_contiguous(array)
        layout = "A"
    return array_type(array, layout)
