"""numba.cuda.types: Numba's own types where numba has been imported (as in numba-cuda), else cudasim's."""

from cudasim import types as _types
from cudasim.types import real_numba_types as _real

#: A package in numba-cuda; its modules are Numba's own (cudasim/switch.py).
__path__ = []

#: Numba's classes of scalar types; cudasim's types have one class for all.
_NUMBERS = ("Boolean", "Integer", "Float", "Complex", "Number")


def __getattr__(name):
    numba_types = _real()
    if numba_types is not None and hasattr(numba_types, name):
        return getattr(numba_types, name)
    if name == "bool":
        return _types.boolean
    if name in _NUMBERS and not hasattr(_types, name):
        return _types.Number
    if hasattr(_types, name) and not name.startswith("_"):
        return getattr(_types, name)
    raise AttributeError(f"module 'numba.cuda.types' has no attribute {name!r}: cudasim has no such type (yet)")


def __dir__():
    return sorted({*dir(_real() or _types), *_NUMBERS})
