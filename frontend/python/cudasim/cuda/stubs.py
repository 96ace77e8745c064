"""numba.cuda.stubs: the names that kernels use, under the name of the module where Numba has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.compile.intrinsics import TOP_LEVEL as _TOP_LEVEL

if TYPE_CHECKING:
    from typing import Any


__all__ = list(_TOP_LEVEL)


def __getattr__(name: str) -> Any:
    if name in _TOP_LEVEL:
        return _TOP_LEVEL[name]
    raise AttributeError(f"module 'numba.cuda.stubs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_TOP_LEVEL)
