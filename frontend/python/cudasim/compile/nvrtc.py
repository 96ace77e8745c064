"""CUDA C++ in a string becomes PTX, where a CUDA toolkit's nvcc is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim._cuda_errors import CCSupportError, LinkerError, NvrtcCompilationError, NvrtcSupportError
from cudasim.compile import linked_code
from cudasim.compile.linkable_code import PTXSource

if TYPE_CHECKING:
    from typing import Any

    from cudasim.compile.linkable_code import PTXSource

#: LLVM 19's NVPTX processors from sm_50 on.
_CAPABILITIES = (
    (5, 0),
    (5, 2),
    (5, 3),
    (6, 0),
    (6, 1),
    (6, 2),
    (7, 0),
    (7, 2),
    (7, 5),
    (8, 0),
    (8, 6),
    (8, 7),
    (8, 9),
    (9, 0),
)


def compile(
    src: str, name: str, cc: tuple[int, ...], ltoir: bool = False, lineinfo: bool = False, debug: bool = False
) -> tuple[PTXSource, str]:
    """CUDA C++ as PTX, and the compiler's log.

    :param name: what messages call the text
    :param cc: compute capability, (major, minor)
    :returns: an object with the PTX as bytes in `code`, and the log
    :raises NvrtcSupportError: without an nvcc
    :raises NvrtcCompilationError: with what the compiler says
    """
    if not isinstance(cc, tuple) or len(cc) != 2:
        raise TypeError(
            f"`cc` must be a list or tuple of length 2: a compute capability such as (8, 0), got {cc!r}"
        )
    if ltoir:
        raise NvrtcSupportError(
            "LTO-IR is machine code, which cannot be simulated; compile to PTX (ltoir=False)"
        )
    if linked_code.nvcc() is None:
        raise NvrtcSupportError(
            f"{name}: compiling CUDA C++ needs nvcc of a CUDA toolkit (CUDA_HOME, or on PATH), which was not found"
        )
    flags = ["-G"] if debug else ["-lineinfo"] if lineinfo else []
    try:
        text = linked_code.compiled_cu(src, name, get_arch_option(*cc), tuple(flags))
    except LinkerError as error:
        raise NvrtcCompilationError(str(error)) from None
    compiled = PTXSource(text.encode(), name)
    compiled.code, compiled.code_type = text.encode(), "ptx"
    return compiled, ""


def get_supported_ccs() -> Any:
    """Every compute capability that PTX can be made for."""
    return _CAPABILITIES


def get_lowest_supported_cc() -> tuple[int, ...]:
    """The lowest of them that CUDA 13 still accepts."""
    return 7, 5


def find_closest_arch(mycc: tuple[int, ...]) -> tuple[int, ...]:
    """The highest supported capability that is not above the given one.

    :raises CCSupportError: when all are
    """
    below = [capability for capability in _CAPABILITIES if capability <= tuple(mycc)]
    if not below:
        raise CCSupportError(f"GPU compute capability {mycc[0]}.{mycc[1]} is not supported (requires >=5.0)")
    return below[-1]


def get_arch_option(major: int, minor: int, arch: str = "") -> str:
    """The architecture's name for the closest supported capability: "compute_80"."""
    return "compute_{}{}{}".format(*find_closest_arch((major, minor)), arch)
