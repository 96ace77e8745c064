"""numba.cuda.libdevicefuncs: the types of libdevice's functions as data: `functions["__nv_sincos"]` is the result's type and
the parameters in C's order, those through which further results come being pointers.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.types import Tuple, none, public, type_named

if TYPE_CHECKING:
    from typing import Any

arg = namedtuple("arg", ("name", "ty", "is_ptr"))


def _made(parameters, results, returns):
    names = iter("xyz")
    values = [arg(next(names), public(type_named(name)), False) for name in parameters]
    pointers = [arg(next(names), public(type_named(name)), True) for name in results[returns:]]
    return public(type_named(results[0]) if returns else none), values + pointers


#: "__nv_<name>" → (result's type, [arg])
functions = {f"__nv_{name}": _made(parameters, results, "sincos" not in name)
             for name, parameters, results in _native.libdevice_functions()}  # fmt: skip


def create_signature(retty: Any, args: Any) -> Any:
    """The signature of the function that kernels call: what comes through pointers is part of its result."""
    results = [each.ty for each in args if each.is_ptr]
    if retty != public(none):
        results.insert(0, retty)
    result = results[0] if len(results) == 1 else public(Tuple(results))
    return result(*[each.ty for each in args if not each.is_ptr])
