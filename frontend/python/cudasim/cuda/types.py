"""numba.cuda.types: Numba's own types where numba has been imported (as in numba-cuda), else cudasim's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cudasim import types as _types
from cudasim.type_system import numba_types as _numba_types
from cudasim.type_system import value_types
from cudasim.types import real_numba_types as _real

if TYPE_CHECKING:
    from typing import Any

#: A package in numba-cuda; its modules are Numba's own (cudasim/switch.py).
__path__: list[Any] = []

#: Modules in it, which are this one (cudasim/switch.py).
PARTS = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "cuda_")
    for name in (
        "abstract",
        "common",
        "containers",
        "ext_types",
        "function_type",
        "functions",
        "iterators",
        "misc",
        "npytypes",
        "scalars",
    )
)
#: numba-cuda's own, which Numba's module of types lacks.
_OURS = ("Dim3", "GridGroup", "dim3", "grid_group")


def __getattr__(name: str) -> Any:
    numba_types = _real()
    if numba_types is not None and hasattr(numba_types, name):
        return getattr(numba_types, name)
    if name in PARTS:
        return sys.modules[__name__]
    if name in _OURS:
        return _numba_types.device_types()[name]
    if name == "bool":
        return _types.boolean
    if name == "bfloat16":
        return _types.public(_types.bfloat16)
    if name in value_types.PUBLIC:
        return getattr(value_types, name)
    if name in _further().PUBLIC:
        return getattr(_further(), name)
    if hasattr(_types, name) and not name.startswith("_"):
        return getattr(_types, name)
    raise AttributeError(
        f"module 'numba.cuda.types' has no attribute {name!r}: cudasim has no such type (yet)"
    )


def _further():
    from cudasim.type_system import further_types  # few programs need them: not at the start

    return further_types


def __dir__() -> list[str]:
    return sorted({*dir(_real() or _types), *value_types.PUBLIC, *_further().PUBLIC})
