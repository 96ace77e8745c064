"""numba.cuda.cudadrv.error's names."""

from cudasim._cuda_errors import (  # noqa: F401
    CudaAPIError,
    CudaDriverError,
    CudaRuntimeAPIError,
    CudaRuntimeError,
    CudaSupportError,
    LinkerError,
    NvrtcError,
    NvvmError,
    NvvmSupportError,
)
