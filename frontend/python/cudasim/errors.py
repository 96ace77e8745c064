"""The exceptions and warnings that cudasim raises, and how engine errors become them.

* CudasimWarning and a class for each kind of warning, KernelMemoryError, KernelTimeoutError, KernelError, CudaAPIError: cudasim's own.
* TypingError, UnsupportedError, LoweringError, … (numba.core.errors' names): Numba's own classes when the real
  numba has been imported in this process, else equal ones of ours. They are looked up at each use
  (`errors.TypingError`), because numba may be imported later, and never imported from here: that takes 0.5 s.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import TYPE_CHECKING

from cudasim._cuda_errors import (  # noqa: F401
    CudaAPIError,
    CudaDriverError,
    CudaRuntimeAPIError,
    CudaRuntimeError,
    CudaSupportError,
    driver_error,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class CudasimWarning(UserWarning):
    """What a kernel did that hardware lets pass, or what the simulation does otherwise than a GPU.

    Each kind of warning (docs/findings.md) has a class of its own below this one, FloatDivisionWarning for
    `float-division`, so that filters can name it. `finding` is what an instance is about, where a kernel did it.
    """

    #: the stable name in simulator/findings/finding_kinds.def
    kind = None
    finding = None


@functools.cache
def _warning_classes():
    """{stable name: class} of all kinds of warnings."""
    from cudasim import _native  # programs that need no engine catch these errors

    classes = {}
    for kind, severity in _native.finding_kinds():
        if severity == "warning":
            name = "".join(word.capitalize() for word in kind.split("-")) + "Warning"
            members = {
                "kind": kind,
                "__module__": __name__,
                "__doc__": f"Warnings of the kind {kind} (docs/findings.md).",
            }
            classes[kind] = type(name, (CudasimWarning,), members)
    return classes


def warning_class(kind: str) -> type:
    """The class of warnings of a kind, by its stable name in docs/findings.md."""
    return _warning_classes()[kind]


class NotComparedWarning(CudasimWarning):
    """A launch was not compared with a real GPU; says why."""


class NoGpuError(RuntimeError):
    """There is no GPU to be had: no driver, a broken one, no device, or one that is too old; says which, and what can be done.

    `exit_status` is what programs end with: 10, 11, 12, 13 in this order, 1 where the program for GPUs itself does not start.
    """

    def __init__(self, message: str, exit_status: int = 1) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class NotComparedError(RuntimeError):
    """A launch could not be compared with a real GPU; says why. `launch` is its part of the report."""

    def __init__(self, message: str, launch: dict[str, Any]) -> None:
        super().__init__(message)
        self.launch = launch


class RecordError(ValueError):
    """A launch cannot be recorded, or a file holds no records of launches; says why."""


class _KernelFault(CudaAPIError):
    """Base of kernel faults that the CUDA driver would report too: prints its message, carries the driver's code."""

    #: what was found, each a cudasim.findings.Finding
    findings: Sequence[Any] = ()

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

    #: what was found, each a cudasim.findings.Finding
    findings: Sequence[Any] = ()


class GpuDifference(AssertionError):
    """A launch had other results on the GPU than on the simulator. str() is the report as text."""

    #: the report as data, as cudasim/comparing/report_schema.json describes it
    report: dict[str, Any]

    def __init__(self, message: str, report: dict[str, Any]) -> None:
        super().__init__(message)
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.report)


class KernelOnlyError(NotImplementedError, AttributeError):
    """A value that exists only in kernels was asked for on the host; an AttributeError, so that hasattr() can ask."""


class UnknownFieldError(KeyError):
    """A record has no such field: a KeyError, as with Numba, that prints its message."""

    def __str__(self) -> str:
        return str(self.args[0])


def _real_numba_errors():
    numba = sys.modules.get("numba")
    if numba is None or getattr(numba, "__cudasim_stand_in__", False):
        return None
    return sys.modules.get("numba.core.errors")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'cudasim.errors' has no attribute {name!r}")
    if name.endswith("Warning"):
        for known in _warning_classes().values():
            if known.__name__ == name:
                return known
    numba_errors = _real_numba_errors()
    if numba_errors is not None and hasattr(numba_errors, name):
        return getattr(numba_errors, name)
    from cudasim import _numba_error_classes  # few programs name Numba's own errors

    try:
        return getattr(_numba_error_classes, name)
    except AttributeError:
        raise AttributeError(f"module 'cudasim.errors' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    from cudasim import _numba_error_classes  # few programs name Numba's own errors

    own = [name for name in globals() if not name.startswith("_")]
    kinds = (known.__name__ for known in _warning_classes().values())
    return sorted({*own, *kinds, *_numba_error_classes.__all__})


def from_native_cuda_error(code: int, message: str, chain: Sequence[Any] = ()) -> Any:
    """The exception for an error of the driver (simulator/driver/error.h).

    :param chain: (file, function, line, column) of the place in a kernel that it is about, innermost first
    """
    return CudaAPIError(code, _with_place(message, chain))


def from_call_in_callback(code: int, message: str) -> CudaAPIError:
    """The exception for calls of CUDA by a stream callback: what the driver says, and what to do in Python."""
    return CudaAPIError(
        code,
        f"{message}. Let the callback set a threading.Event or call loop.call_soon_threadsafe, and call CUDA in the thread "
        "that waits for it",
    )


#: What from_fork_in_use() says first.
FORKED_IN_USE = (
    "CUDA initialized before forking: this process was forked while another thread used the simulated device"
)


def from_fork_in_use() -> Any:
    """The exception for using devices in a process that was forked while another thread used them."""
    return CudaDriverError(
        f"{FORKED_IN_USE}, so it cannot use it; start workers before the threads, or with multiprocessing's method 'spawn'"
    )


def from_native_compile_error(message: Any, chain: Any) -> Any:
    """The exception for a kernel that simulator/jit refuses, with the place it refuses.

    :param chain: (file, function, line, column) of the place, innermost first; may be empty.
    """
    return __getattr__("LoweringError")(_with_place(message, chain))


def _with_place(message, chain):
    if not chain:
        return message
    file, function, line, _ = chain[0]
    return f"{message}\n{_quote(file, line, function)}"


def _quote(file, line, function):
    import linecache  # only for a message

    text = linecache.getline(file, line).strip()
    place = f'File "{file}", line {line}, in {function}'
    return f"{place}\n    {text}" if text else place


__all__ = [
    "CudaAPIError",
    "CudaDriverError",
    "CudaSupportError",
    "CudasimWarning",
    "GpuDifference",
    "KernelError",
    "KernelMemoryError",
    "KernelOnlyError",
    "KernelTimeoutError",
    "UnknownFieldError",
]


def _apply_warning_options():
    """`python -W ignore::cudasim.errors.X`: Python reads -W before it can import installed packages, and ignores it then."""
    for option in sys.warnoptions:
        if f":{__name__}." in option:
            try:
                warnings._setoption(option)  # type: ignore[attr-defined]  # private, and what -W calls
            except Exception:  # noqa: BLE001 - Python has said so already
                pass


_apply_warning_options()
