"""numba.cuda.typing: signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import types as _types
from cudasim.type_system.signatures import signature

if TYPE_CHECKING:
    from typing import Any


__all__ = ["Signature", "signature"]  # noqa: F822 - see __getattr__


def __getattr__(name: str) -> Any:
    if name == "Signature":
        return type(signature(_types.public(_types.none)))
    raise AttributeError(f"module 'numba.cuda.typing' has no attribute {name!r}")
