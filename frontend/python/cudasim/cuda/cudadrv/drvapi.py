"""numba.cuda.cudadrv.drvapi: the CUDA driver's names of its default streams, and its types as ctypes has
them (cuda.h)."""

import ctypes as _ctypes

CU_STREAM_DEFAULT = 0
CU_STREAM_LEGACY = 1
CU_STREAM_PER_THREAD = 2

cu_device = _ctypes.c_int
cu_device_ptr = _ctypes.c_size_t
cu_ipc_mem_handle = _ctypes.c_byte * 64
