"""numba.cuda.fp16: CUDA's functions of float16, for use in kernels: `fp16.hadd(a, b)`, `fp16.hsin(a)`. The functions:
simulator/libdevice/half_functions.def.
"""

from cudasim.compile import intrinsics as _intrinsics

globals().update(_intrinsics.members_of("cuda.fp16"))
__all__ = list(_intrinsics.members_of("cuda.fp16"))
