"""numba.cuda.cudadrv.drvapi: the CUDA driver's names of its default streams (cuda.h)."""

CU_STREAM_DEFAULT = 0
CU_STREAM_LEGACY = 1
CU_STREAM_PER_THREAD = 2
