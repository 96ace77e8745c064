"""numba.cuda.target: the classes of its contexts."""

from __future__ import annotations

from cudasim.cuda import numbas_target

CUDATypingContext = type(numbas_target.target(__name__).typing_context)
CUDATargetContext = type(numbas_target.target(__name__).target_context)
