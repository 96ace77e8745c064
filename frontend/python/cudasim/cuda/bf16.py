"""numba.cuda.bf16: the type bfloat16 and CUDA's functions of it, for use in kernels: `bf16.hadd(a, b)`, `bf16.bfloat16(1.5)`.
The functions: simulator/libdevice/half_functions.def.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import types as _types
from cudasim.compile import intrinsics as _intrinsics

if TYPE_CHECKING:
    from typing import Any

globals().update(_intrinsics.members_of("cuda.bf16"))
__all__ = ["bfloat16", *_intrinsics.members_of("cuda.bf16")]  # noqa: F822 - see __getattr__


def __getattr__(name: str) -> Any:
    if name == "bfloat16":  # once numba has been imported it is a type of Numba's
        return _types.public(_types.bfloat16)
    raise AttributeError(f"module 'numba.cuda.bf16' has no attribute {name!r}")
