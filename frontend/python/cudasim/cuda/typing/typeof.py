"""numba.cuda.typing.typeof: the type that a value has as an argument of a kernel, or as a constant in one."""

from __future__ import annotations

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

    name = _only_constant(val)
    return types.public(type_name(val) if name is None else name)


def _only_constant(val):
    """The name of the type of what is no argument; None for all else."""
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
    if (
        types.is_numba_type(val)
        or isinstance(val, types.Type)
        or isinstance(val, type)
        and issubclass(val, _np.generic)
    ):
        return f"class({types.name_of(val)})"
    return None
