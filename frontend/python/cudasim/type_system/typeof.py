"""Which type a value has as an argument of a kernel: Numba's rules.

A class answers for its values by the method `__cudasim_typeof__`, as classes of this package do. Python's and NumPy's classes have a
rule each, in the table at the end. For objects that follow some other protocol a room further up registers how to answer.
"""

from __future__ import annotations

import array
import enum
import functools
import numbers
import sys
import weakref
from typing import TYPE_CHECKING

import numpy as np

from cudasim import errors
from cudasim.type_system import added_types
from cudasim.type_system.array_compatibility import check_contiguous
from cudasim.type_system.container_types import Array, BaseTuple, member_type
from cudasim.type_system.element_types import of_dtype
from cudasim.type_system.plain_types import boolean, complex128, float64, int64, uint64
from cudasim.type_system.record_names import NUMBERS
from cudasim.type_system.registered_types import registered_type
from cudasim.type_system.scalar_types import ALIASES, Type, as_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_protocols: list[tuple[Callable[[Any], bool], Callable[[Any], Type]]] = []


def register_protocol(follows: Callable[[Any], bool], type_of: Callable[[Any], Type]) -> None:
    """For values of any class, asked for when nothing else is known of a value.

    :param follows: value → whether it follows the protocol
    :param type_of: such a value → its type
    """
    _protocols.append((follows, type_of))


#: Numba has types for these, but launches cannot pass them: NotImplementedError, as with a GPU.
_NOT_PASSED = (
    type(None), str, bytes, bytearray, memoryview, array.array, list, set, slice, type(...), np.dtype, enum.Enum
)  # fmt: skip


def typeof(value: Any) -> Type:
    """The type of a kernel argument.

    :raises ValueError: for values without a Numba type, integers that are too large, strided host arrays
    :raises NotImplementedError: for values that have a Numba type but cannot be passed to a kernel
    """
    kind = type(value)
    rule = _RULES.get(kind) or _found_rules.get(kind)
    if rule is None:
        rule = _found_rules[kind] = _rule_of(kind)
    return rule(value)


#: Class → rule, of classes that are in no table.
_found_rules: weakref.WeakKeyDictionary[type, Callable[[Any], Type]] = weakref.WeakKeyDictionary()


def _rule_of(kind):
    own = getattr(kind, "__cudasim_typeof__", None)
    if own is not None:
        return own
    return next((rule for base, rule in _RULES_OF_BASES if issubclass(kind, base)), _of_any_class)


_PASSED = "a kernel takes numbers, records, NumPy arrays, device arrays and tuples of them"


def _of_any_class(value):
    kind = type(value)
    registered = registered_type(value)
    if (own := added_array(registered)) is not None:
        return as_elements_of(own, value)
    for follows, type_of in _protocols:
        if follows(value):
            return type_of(value)
    if getattr(registered, "name", None) in NUMBERS:
        return ALIASES[registered.name]
    if (added := None if registered is None else added_types.of_numba_type(registered)) is not None:
        return added
    what = "None" if value is None else f"a value of {kind}"
    if isinstance(value, _NOT_PASSED):
        raise NotImplementedError(f"{what} cannot be passed to a kernel; {_PASSED}")
    raise ValueError(f"Cannot determine Numba type of {kind}; {_PASSED}")


def _of_member(member):
    if not isinstance(member.value, (int, float)):
        return _of_any_class(member)
    enumeration: Any = type(member)
    return _type_of_members(enumeration)


@functools.lru_cache(maxsize=256)
def _type_of_members(enumeration):
    return member_type(enumeration, [typeof(one.value) for one in enumeration])


def _of_flag(flag):
    return _of_integer(flag) if isinstance(flag, int) else _of_any_class(flag)


def _of_integer(value):
    value = int(value)
    if -(1 << 63) <= value < 1 << 63:
        return int64
    if 0 <= value < 1 << 64:
        return uint64
    raise ValueError(f"Int value is too large: {value} does not fit in 64 bits")


def _of_tuple(value):
    named_class: Any = type(value) if hasattr(value, "_fields") else None
    return _type_of_tuples(tuple(map(typeof, value)), named_class)


@functools.lru_cache(maxsize=256)
def _type_of_tuples(elements, named_class):
    return BaseTuple.from_types(elements, named_class)


def _of_numpy_scalar(value):
    dtype = value.dtype
    if dtype.kind in "SU" or dtype.name == "bfloat16":
        instead = "pass its bits, as int16" if dtype.name == "bfloat16" else _PASSED
        raise NotImplementedError(f"a value of {type(value)} cannot be passed to a kernel; {instead}")
    kind = type_of_elements(dtype)
    if kind is None:
        raise _unsupported_dtype("scalar", dtype)
    return kind


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


def type_of_elements(dtype: np.dtype) -> Type | None:
    """The type of values of a NumPy dtype; None for dtypes that kernels cannot have."""
    return _type_of_elements(dtype, dtype.isalignedstruct)


@functools.lru_cache(maxsize=1024)
def _type_of_elements(dtype, aligned):
    """:param aligned: whether its fields lie as C puts them; dtypes that differ in it are equal"""
    del aligned
    try:
        return of_dtype(dtype) if dtype.isnative else None
    except TypeError:
        return None


_array_types: dict[Any, Array | None] = {}


def array_type(dtype: np.dtype, ndim: int, layout: str, readonly: bool = False) -> Array | None:
    """The type of arrays; None for dtypes that kernels cannot have."""
    key = (dtype, ndim, layout, readonly, dtype.isalignedstruct)
    try:
        return _array_types[key]
    except KeyError:
        element = type_of_elements(dtype)
        kind = None if element is None else Array(element, ndim, layout, readonly)
        _array_types[key] = kind
        return kind


def type_of_array(array: Any, layout: str, readonly: bool = False) -> Array:
    """The type of arrays with the dtype and the dimensions of this one, or what a program has said of this array's class.

    :raises ValueError: for dtypes that kernels cannot have
    """
    kind = array_type(array.dtype, array.ndim, layout, readonly)
    if array.dtype.names is not None and (own := added_array(registered_type(array))) is not None:
        return as_elements_of(own, array)
    if kind is None:
        raise _unsupported_dtype("array", array.dtype)
    return kind


def added_array(kind: Any) -> Array | None:
    """The type of arrays whose elements have a type that a program has added; None for any other.

    :param kind: Numba's, or None"""
    if isinstance(kind, Type) or not (hasattr(kind, "layout") and hasattr(kind, "ndim")):
        return None
    own = as_type(kind)
    return own if isinstance(own, Array) and added_types.is_added(own) else None


def as_elements_of(kind: Array, array: Any) -> Array:
    """The type, where it may be that of an array.

    :param kind: of added_array()
    :param array: an array, or an object that an extension makes one of
    :raises TypeError: where the elements of the array cannot be values of the type
    """
    dtype, ndim = getattr(array, "dtype", None), getattr(array, "ndim", None)
    if not isinstance(dtype, np.dtype):
        interface = getattr(array, "__cuda_array_interface__", None)
        if not isinstance(interface, dict):
            return kind
        dtype, ndim = np.dtype(interface["typestr"]), len(interface["shape"])
    if (dtype.itemsize, ndim) != (kind.dtype.size, kind.ndim):
        raise TypeError(
            f"{kind} has {kind.ndim} dimensions and elements of {kind.dtype.size} bytes, as the data model of {kind.dtype} lays them "
            f"out; the array that was given for it has {ndim}, and elements of {dtype.itemsize} bytes"
        )
    return kind


def type_of_host_array(array: np.ndarray) -> Array:
    """The type of an array of NumPy's.

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
    return type_of_array(array, layout, not flags.writeable)


#: Class → rule, for values of this class and of none that is derived from it.
_RULES: dict[type, Callable[[Any], Type]] = {
    bool: lambda value: boolean,
    np.bool_: lambda value: boolean,
    int: _of_integer,
    float: lambda value: float64,
    complex: lambda value: complex128,
    np.ndarray: type_of_host_array,
    tuple: _of_tuple,
}
#: (Class, rule) for values of derived classes, too; the first that fits counts.
_RULES_OF_BASES: tuple[tuple[type, Callable[[Any], Type]], ...] = (
    (np.ndarray, type_of_host_array),
    (np.generic, _of_numpy_scalar),
    (enum.Flag, _of_flag),
    (enum.Enum, _of_member),
    (numbers.Integral, _of_integer),
    (float, lambda value: float64),
    (complex, lambda value: complex128),
    (tuple, _of_tuple),
)
