"""numba.cuda.cudadrv.enums' names: constants of the CUDA driver's interface (CUDA Driver API, "Data types used by
CUDA driver"), as far as what is simulated can answer with them or takes them.
"""

from cudasim._native import cuda_results
from cudasim.device.device_attributes import numbers

#: enum CUresult
RESULTS = cuda_results()

globals().update(RESULTS)
globals().update({f"CU_DEVICE_ATTRIBUTE_{name}": number for name, number in numbers().items()})

# Streams (CUstream_flags and the handles of the default streams)
CU_STREAM_DEFAULT = 0x0
CU_STREAM_NON_BLOCKING = 0x1
CU_STREAM_LEGACY = 0x1
CU_STREAM_PER_THREAD = 0x2

# Events (CUevent_flags)
CU_EVENT_DEFAULT = 0x0
CU_EVENT_BLOCKING_SYNC = 0x1
CU_EVENT_DISABLE_TIMING = 0x2
CU_EVENT_INTERPROCESS = 0x4

# Contexts (CUctx_flags)
CU_CTX_SCHED_AUTO = 0x00
CU_CTX_SCHED_SPIN = 0x01
CU_CTX_SCHED_YIELD = 0x02
CU_CTX_SCHED_BLOCKING_SYNC = 0x04
CU_CTX_MAP_HOST = 0x08
CU_CTX_LMEM_RESIZE_TO_MAX = 0x10

# Host and managed memory
CU_MEMHOSTALLOC_PORTABLE = 0x01
CU_MEMHOSTALLOC_DEVICEMAP = 0x02
CU_MEMHOSTALLOC_WRITECOMBINED = 0x04
CU_MEMHOSTREGISTER_PORTABLE = 0x01
CU_MEMHOSTREGISTER_DEVICEMAP = 0x02
CU_MEM_ATTACH_GLOBAL = 0x1
CU_MEM_ATTACH_HOST = 0x2
CU_MEM_ATTACH_SINGLE = 0x4
CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 0x1

# What memory a pointer points to (CUmemorytype)
CU_MEMORYTYPE_HOST = 0x01
CU_MEMORYTYPE_DEVICE = 0x02
CU_MEMORYTYPE_ARRAY = 0x03
CU_MEMORYTYPE_UNIFIED = 0x04

# Modes of access to a device (CUcomputemode)
CU_COMPUTEMODE_DEFAULT = 0
CU_COMPUTEMODE_PROHIBITED = 2
CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3

# What is asked of a function (CUfunction_attribute)
CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0
CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1
CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2
CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3
CU_FUNC_ATTRIBUTE_NUM_REGS = 4
CU_FUNC_ATTRIBUTE_PTX_VERSION = 5
CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6
