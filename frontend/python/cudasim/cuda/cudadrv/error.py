"""numba.cuda.cudadrv.error's names."""

from cudasim._cuda_errors import (  # noqa: F401
    CCSupportError,
    CudaAPIError,
    CudaDriverError,
    CudaRuntimeAPIError,
    CudaRuntimeError,
    CudaSupportError,
    LinkerError,
    NvrtcBuiltinOperationFailure,
    NvrtcCompilationError,
    NvrtcError,
    NvrtcSupportError,
    NvvmError,
    NvvmSupportError,
    NvvmWarning,
)
