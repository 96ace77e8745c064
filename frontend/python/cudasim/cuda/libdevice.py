"""numba.cuda.libdevice: CUDA's libdevice, for use in kernels: `libdevice.sinf(x)`; what C returns through pointers makes
the result a tuple, as in `sine, cosine = libdevice.sincos(x)`. The functions: simulator/libdevice/functions.def.
"""

from cudasim.compile import intrinsics as _intrinsics

globals().update(_intrinsics.members_of("cuda.libdevice"))
__all__ = list(_intrinsics.members_of("cuda.libdevice"))
