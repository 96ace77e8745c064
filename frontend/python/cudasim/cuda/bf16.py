"""numba.cuda.bf16: the type bfloat16 and CUDA's functions of it, for use in kernels: `bf16.hadd(a, b)`, `bf16.bfloat16(1.5)`.
The functions: simulator/libdevice/half_functions.def.
"""

from cudasim.cuda import intrinsics as _intrinsics
from cudasim.types import bfloat16 as bfloat16

globals().update(_intrinsics.members_of("cuda.bf16"))
__all__ = ["bfloat16", *_intrinsics.members_of("cuda.bf16")]
