"""Names of the real numba.cuda in kernels: what stands for them here.

Where numba-cuda is imported beside this package, and the switch is off, kernels that were written for it name its objects: `cuda.grid`
is a function of numba-cuda. Such an object means the one that cudasim.cuda has under the same name.
"""

from __future__ import annotations

import importlib
import sys
import types as python_types
from typing import Any

_REAL, _OWN = "numba.cuda", "cudasim.cuda"
_NONE = object()


def counterpart(value: Any) -> Any:
    """What stands for an object of the real numba.cuda; the value itself where it is none, or nothing does."""
    real = sys.modules.get(_REAL)
    if real is None or real is sys.modules.get(_OWN):
        return value
    if isinstance(value, python_types.ModuleType):
        found = _own_module(value.__name__) if _is_in(value.__name__, _REAL) else None
        return value if found is None else found
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not _is_in(module, _REAL):
        return value
    found = _named(_own_module(module), name)
    if found is _NONE:
        found = _named(_own_module(_REAL), name)
    return value if found is _NONE else found


def _is_in(name, package):
    return name == package or name.startswith(package + ".")


def _own_module(name):
    """The module here for a module there; None where there is none."""
    own = _OWN + name[len(_REAL) :]
    try:
        return importlib.import_module(own)
    except ModuleNotFoundError:
        return None


def _named(value, dotted_name):
    for part in dotted_name.split("."):
        value = getattr(value, part, _NONE)
    return value
