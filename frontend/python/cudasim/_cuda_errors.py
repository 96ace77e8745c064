"""The errors that the CUDA driver and runtime are reported with; numba.cuda.cudadrv.error's names.

They stand alone so that cudasim.errors and cudasim.cuda can both use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class CudaDriverError(Exception):
    """Base of errors from the (simulated) CUDA driver."""


class CudaRuntimeError(Exception):
    """Base of errors from the (simulated) CUDA runtime."""


class CudaSupportError(ImportError):
    """CUDA cannot be used. cudasim always can, so it never raises this; scripts catch it."""


#: Is told of each error of the driver; memory.leaks sets it.
on_failure: Callable[[CudaAPIError], None] | None = None


class CudaAPIError(CudaDriverError):
    """A driver call failed.

    :ivar code: CUDA's error code (enum CUresult)
    :ivar msg: what failed, and which limit was exceeded
    """

    def __init__(self, code: int, msg: str) -> None:
        super().__init__(code, msg)
        self.code = code
        self.msg = msg
        if on_failure is not None:
            on_failure(self)

    def __str__(self) -> str:
        return f"[{self.code}] {self.msg}"


def driver_error(call: str, name: str, reason: str) -> CudaAPIError:
    """The error of a driver's call, in the words that the driver's errors have.

    :param call: e.g. "cuMemAlloc"
    :param name: of CUDA's result (simulator/findings/cuda_results.def), e.g. "CUDA_ERROR_INVALID_VALUE"
    """
    from cudasim import _native  # here: programs that need no engine catch these errors

    return CudaAPIError(*_native.driver_error(call, name, reason))


class CudaRuntimeAPIError(CudaRuntimeError):
    """A runtime call failed."""

    def __init__(self, code: Any, msg: Any) -> None:
        super().__init__(code, msg)
        self.code = code
        self.msg = msg

    def __str__(self) -> str:
        return f"[{self.code}] {self.msg}"


class NvvmError(Exception):
    """libNVVM failed; cudasim has its own compiler and never raises this."""


class NvvmSupportError(ImportError):
    """libNVVM is not there; cudasim does not need it and never raises this."""


class NvvmWarning(Warning):
    """libNVVM warned; cudasim never does."""


class NvrtcError(Exception):
    """NVRTC failed; cudasim does not use it and never raises this."""


class NvrtcCompilationError(NvrtcError):
    """NVRTC could not compile; see NvrtcError."""


class NvrtcBuiltinOperationFailure(NvrtcError):
    """NVRTC failed in itself; see NvrtcError."""


class NvrtcSupportError(ImportError):
    """NVRTC is not there; cudasim does not need it and never raises this."""


class CCSupportError(RuntimeError):
    """A compute capability that cannot be compiled for."""


class DeadMemoryError(RuntimeError):
    """Memory was used after it was freed; scripts catch it."""


class LinkerError(RuntimeError):
    """Linking device code failed."""


# Where users find them; tracebacks and pickles name this module.
for _error in (CudaDriverError, CudaRuntimeError, CudaSupportError, CudaAPIError, CudaRuntimeAPIError):
    _error.__module__ = "cudasim.errors"
del _error
