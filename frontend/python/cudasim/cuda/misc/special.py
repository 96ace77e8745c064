"""numba.cuda.misc.special: literal_unroll."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import cuda as _cuda

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    if name == "literal_unroll":
        return _cuda.literal_unroll
    raise AttributeError(f"module 'numba.cuda.misc.special' has no attribute {name!r}")
