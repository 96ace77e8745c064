"""The exceptions and warnings that cudasim raises, and how engine errors become them.

* CudasimWarning, KernelMemoryError, KernelTimeoutError, KernelError, CudaAPIError: cudasim's own.
* TypingError, UnsupportedError, LoweringError, … (numba.core.errors' names): Numba's own classes when the real
  numba has been imported in this process, else equal ones of ours. They are looked up at each use
  (`errors.TypingError`), because numba may be imported later, and never imported from here: that takes 0.5 s.
"""

import sys

from cudasim._cuda_errors import (  # noqa: F401
    CudaAPIError,
    CudaDriverError,
    CudaRuntimeAPIError,
    CudaRuntimeError,
    CudaSupportError,
)


class CudasimWarning(UserWarning):
    """Something a kernel did that hardware lets pass: float division by zero, early exit at a barrier."""


class _KernelFault(CudaAPIError):
    """Base of kernel faults that the CUDA driver would report too: prints its message, carries the driver's code."""

    def __init__(self, message, code=0):
        Exception.__init__(self, message)
        self.code = code
        self.msg = message

    def __str__(self):
        return self.msg

    def __reduce__(self):
        return type(self), (self.msg, self.code), self.__dict__


class KernelMemoryError(_KernelFault, MemoryError):
    """An access to memory that is not the kernel's: out of bounds, freed, misaligned, read-only, the host's."""


class KernelTimeoutError(_KernelFault, TimeoutError):
    """The kernel ran longer than the time limit (option time-limit)."""


class KernelError(RuntimeError):
    """A kernel error without a Python exception of its own: traps, invalid calls, deadlocks."""


class UnknownFieldError(KeyError):
    """A record has no such field: a KeyError, as with Numba, that prints its message."""

    def __str__(self):
        return str(self.args[0])


def _real_numba_errors():
    numba = sys.modules.get("numba")
    if numba is None or getattr(numba, "__cudasim_stand_in__", False):
        return None
    return sys.modules.get("numba.core.errors")


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'cudasim.errors' has no attribute {name!r}")
    numba_errors = _real_numba_errors()
    if numba_errors is not None and hasattr(numba_errors, name):
        return getattr(numba_errors, name)
    from cudasim import _numba_error_classes

    try:
        return getattr(_numba_error_classes, name)
    except AttributeError:
        raise AttributeError(f"module 'cudasim.errors' has no attribute {name!r}") from None


def __dir__():
    from cudasim import _numba_error_classes

    own = [name for name in globals() if not name.startswith("_")]
    return sorted({*own, *_numba_error_classes.__all__})


def from_native_cuda_error(call, code, name, message):
    """The exception for an engine error, worded as the CUDA driver's Python bindings word theirs."""
    return CudaAPIError(code, f"Call to {call} results in {name}: {message}")


def from_fork_in_use():
    """The exception for using devices in a process that was forked while another thread used them."""
    return CudaDriverError(
        "CUDA initialized before forking: this process was forked while another thread used the simulated device, "
        "so it cannot use it; start workers before the threads, or with multiprocessing's method 'spawn'"
    )


def from_native_compile_error(message, chain):
    """The exception for a kernel that simulator/jit refuses, with the place it refuses.

    :param chain: (file, function, line, column) of the place, innermost first; may be empty.
    """
    if chain:
        file, function, line, _ = chain[0]
        message = f"{message}\n{_quote(file, line, function)}"
    return __getattr__("LoweringError")(message)


def _quote(file, line, function):
    import linecache

    text = linecache.getline(file, line).strip()
    place = f'File "{file}", line {line}, in {function}'
    return f"{place}\n    {text}" if text else place


__all__ = [
    "CudaAPIError",
    "CudaDriverError",
    "CudaSupportError",
    "CudasimWarning",
    "KernelError",
    "KernelMemoryError",
    "KernelTimeoutError",
    "UnknownFieldError",
]
