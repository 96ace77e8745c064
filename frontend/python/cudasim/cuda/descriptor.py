"""numba.cuda.descriptor: the target that kernels are compiled for, with its contexts."""

from __future__ import annotations

from cudasim.cuda import numbas_target

cuda_target = numbas_target.target(__name__)
CUDATarget = type(cuda_target)
