"""The type of any value, also of what cannot be passed to a kernel: numba.cuda.typing.typeof."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as _np

from cudasim import types
from cudasim.type_system import further_types, value_types
from cudasim.type_system.numba_types import public
from cudasim.type_system.numpy_support import from_dtype
from cudasim.type_system.registered_types import Purpose
from cudasim.type_system.typeof import typeof as type_of_argument

if TYPE_CHECKING:
    from typing import Any


def typeof(val: Any, purpose: Any = Purpose.argument) -> Any:
    """The type of a value: Numba's type object where numba has been imported, else cudasim's. There are types of values that
    cannot be passed to kernels: None, strings, slices, types.

    :raises ValueError: for what has no type
    """
    only_typed = _of_class_or_bytes(val)
    if only_typed is not None:
        return only_typed
    constant = _only_constant(val)
    return public(type_of_argument(val) if constant is None else constant)


def _of_class_or_bytes(val):
    """The type of what neither arguments nor constants of kernels can be: classes, dtypes, bytes, lists. None for all else.

    :raises ValueError: for empty lists and sets
    """
    is_class = isinstance(val, type) and (
        issubclass(val, (enum.Enum, BaseException)) or issubclass(val, tuple) and hasattr(val, "_fields")
    )
    if not is_class and type(val) not in (bytes, bytearray, list, set) and not isinstance(val, _np.dtype):
        return None

    if types.real_numba_types() is not None:
        from numba import typeof as numba_typeof  # numba may be absent

        return numba_typeof(val)

    if isinstance(val, _np.dtype):
        return value_types.DType(from_dtype(val))
    if type(val) is bytes:
        return further_types.Bytes(types.uint8, 1, "C", readonly=True)
    if type(val) is bytearray:
        return further_types.ByteArray(types.uint8, 1, "C")
    if type(val) in (list, set):
        if not val:
            raise ValueError(f"Cannot type empty {type(val).__name__}")
        container = further_types.List if type(val) is list else further_types.Set
        return container(typeof(next(iter(val))), reflected=True)
    if issubclass(val, BaseException):
        return further_types.ExceptionClass(val)
    if issubclass(val, tuple):
        return further_types.NamedTupleClass(val)
    kinds = {typeof(member.value) for member in val}
    if len(kinds) != 1:
        raise ValueError(
            f"Cannot type heterogeneous enum: got value types {', '.join(sorted(map(str, kinds)))}"
        )
    kind = further_types.IntEnumClass if issubclass(val, enum.IntEnum) else further_types.EnumClass
    return kind(val, kinds.pop())


def _only_constant(val):
    """The type of what is not an argument; None for all else."""
    if val is None:
        return types.none
    if val is Ellipsis:
        return value_types.ellipsis
    if type(val) is str:
        return value_types.unicode_type
    if type(val) is slice:
        return value_types.slice2_type if val.step is None else value_types.slice3_type
    if type(val) is _np.ndarray and not (val.flags.c_contiguous or val.flags.f_contiguous):
        return types.Array(types.as_type(val.dtype), val.ndim, "A", readonly=not val.flags.writeable)
    if isinstance(val, type) and issubclass(val, _np.generic):
        return value_types.NumberClass(val)
    if types.is_numba_type(val) or isinstance(val, types.Type):
        kind = types.as_type(val)
        is_number = isinstance(kind, (types.Number, types.Boolean))
        return value_types.NumberClass(kind) if is_number else value_types.TypeRef(kind)
    return None
