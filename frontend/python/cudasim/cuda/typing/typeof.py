"""numba.cuda.typing.typeof: the type that a value has as an argument of a kernel, or as a constant in one."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as _np

from cudasim.type_system.registered_types import Purpose

if TYPE_CHECKING:
    from typing import Any


def typeof(val: Any, purpose: Any = Purpose.argument) -> Any:
    """The type of a value: Numba's type object where numba has been imported, else cudasim's. There are types of values that
    cannot be passed to kernels: None, strings, slices, types.

    :raises ValueError: for what has no type
    """
    from cudasim import types
    from cudasim.type_system.typeof import type_name

    only_typed = _of_class_or_bytes(val)
    if only_typed is not None:
        return only_typed
    name = _only_constant(val)
    found: Any = types.public(type_name(val) if name is None else name)
    read_only = type(val) is _np.ndarray and not val.flags.writeable
    return found.copy(readonly=True) if read_only else found


def _of_class_or_bytes(val):
    """The type of what neither arguments nor constants of kernels can be: classes, dtypes, bytes, lists. None for all else.

    :raises ValueError: for empty lists and sets
    """
    is_class = isinstance(val, type) and (
        issubclass(val, (enum.Enum, BaseException)) or issubclass(val, tuple) and hasattr(val, "_fields")
    )
    if not is_class and type(val) not in (bytes, bytearray, list, set) and not isinstance(val, _np.dtype):
        return None
    from cudasim import types

    if types.real_numba_types() is not None:
        from numba import typeof as numba_typeof

        return numba_typeof(val)
    from cudasim.type_system import further_types, value_types
    from cudasim.type_system.numpy_support import from_dtype

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
    """The name of the type of what is not an argument; None for all else."""
    from cudasim import types

    if val is None:
        return "none"
    if val is Ellipsis:
        return "..."
    if type(val) is str:
        return "unicode_type"
    if type(val) is slice:
        return "slice<a:b>" if val.step is None else "slice<a:b:c>"
    if type(val) is _np.ndarray and not (val.flags.c_contiguous or val.flags.f_contiguous):
        return types.array_name(types.name_of(val.dtype), val.ndim, "A")
    if isinstance(val, type) and issubclass(val, _np.generic):
        return f"class({types.name_of(val)})"
    if types.is_numba_type(val) or isinstance(val, types.Type):
        name = types.name_of(val)
        is_number = isinstance(types.parse_type(name), (types.Number, types.Boolean))
        return f"class({name})" if is_number else f"typeref[{name}]"
    return None
