"""numba.cuda.cudadrv.drvapi's names: the ctypes that handles of the CUDA driver had."""

import ctypes

from cudasim.cuda.cudadrv.enums import (  # noqa: F401
    CU_STREAM_DEFAULT,
    CU_STREAM_LEGACY,
    CU_STREAM_PER_THREAD,
)

cu_device = ctypes.c_int
cu_device_attribute = ctypes.c_int
cu_context = ctypes.c_void_p
cu_module = ctypes.c_void_p
cu_function = ctypes.c_void_p
cu_function_attribute = ctypes.c_int
cu_device_ptr = ctypes.c_size_t
cu_stream = ctypes.c_void_p
cu_event = ctypes.c_void_p
cu_link_state = ctypes.c_void_p
cu_jit_option = ctypes.c_int
cu_jit_input_type = ctypes.c_int
cu_uuid = ctypes.c_byte * 16
cu_stream_callback_pyobj = ctypes.CFUNCTYPE(None, cu_stream, ctypes.c_int, ctypes.py_object)
cu_occupancy_b2d_size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)

#: The 64 bytes by which another process opens device memory.
cu_ipc_mem_handle = ctypes.c_byte * 64
