"""numba.cuda.compile and its kind: functions as PTX, for programs that load it themselves or link it with other code.

The PTX comes from LLVM's NVPTX back end, for any compute capability; no GPU and no simulated device is involved. What
Numba's documentation calls the Numba ABI, "not considered stable", has other symbol names here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import errors, types
from cudasim._numba_config import config, setting
from cudasim.compile import compiler
from cudasim.compile.gpu_code import ptx_of
from cudasim.compile.kernel_function import function_of
from cudasim.compile.nvrtc import find_closest_arch, get_lowest_supported_cc
from cudasim.device.current import current_device
from cudasim.launch.decorators import warn_of_combinations

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.type_system.scalar_types import Integer


def _default_capability():
    """NUMBA_CUDA_DEFAULT_PTX_CC, but not lower than what CUDA 13 accepts."""
    return max(tuple(setting("CUDA_DEFAULT_PTX_CC")), get_lowest_supported_cc())


def compile(  # noqa: A001 - Numba's name
    pyfunc: Any,
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: bool = False,
    cc: tuple[int, ...] | None = None,
    opt: bool | None = None,
    abi: str = "c",
    abi_info: dict[str, str] | None = None,
    output: str = "ptx",
    forceinline: bool = False,
    launch_bounds: Any = None,
) -> tuple[Any, ...]:
    """A Python function compiled for the argument types of a signature: (PTX, return type).

    :param sig: argument types, or a signature; a return type that it says is converted to
    :param device: a device function, or (False) a kernel
    :param cc: compute capability, such as (8, 6); if not said NUMBA_CUDA_DEFAULT_PTX_CC, or (7, 5)
    :param abi: "c" (device functions only) or "numba"
    :param abi_info: {"abi_name": the function's name in the PTX}, for the C ABI
    :param output: "ptx"; LTO-IR is a format of libNVVM's, which cudasim has not
    """
    _check_forms(device, abi, output, forceinline)
    options = _target_options(debug, lineinfo, fastmath, opt, launch_bounds)
    argument_types, result_type = types.parse_signature(sig)
    function = _plain_function(pyfunc)
    taken = function.__code__.co_argcount
    if len(argument_types) != taken:
        raise TypeError(
            f"Signature mismatch: {len(argument_types)} argument types given, but function takes {taken} arguments"
        )
    if device:
        compiled = compiler.compile_device_function(
            function,
            argument_types,
            abi=abi,
            name=(abi_info or {}).get("abi_name") if abi == "c" else None,
            result_type=None if result_type is types.none else result_type,
            fastmath=fastmath,
        )
        if result_type is types.none and compiled.result_type is not types.none:
            raise errors.TypingError(
                f"No conversion from {compiled.result_type} to none: the signature says void"
            )
    else:
        if result_type not in (None, types.none):
            raise TypeError("CUDA kernel must have void return type.")
        try:
            compiled = compiler.compile_kernel(function, argument_types, fastmath=fastmath)
        except errors.TypingError as error:
            if str(getattr(error, "reason", "")).startswith("CUDA kernel must have void return type"):
                raise TypeError(str(error)) from None
            raise
    capability = find_closest_arch(cc or _default_capability())
    ptx = ptx_of(compiled.image, compiled.kernel_name, capability, options)
    return ptx, types.public(compiled.result_type if device else types.none)


def _check_forms(device, abi, output, forceinline):
    if output not in ("ptx", "ltoir"):
        raise NotImplementedError(f"Unsupported output type: {output}")
    if forceinline and output != "ltoir":
        raise ValueError("Can only designate forced inlining in LTO-IR")
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    if abi == "c" and not device:
        raise NotImplementedError("The C ABI is not supported for kernels")
    if forceinline and not device:
        raise ValueError("Cannot force-inline kernels")
    if output == "ltoir":
        raise NotImplementedError(
            "LTO-IR cannot be made: it is a format of NVIDIA's libNVVM, and cudasim compiles with LLVM; ask for output='ptx'"
        )


def _target_options(debug, lineinfo, fastmath, opt, launch_bounds):
    now = config()
    debug = bool(getattr(now, "CUDA_DEBUGINFO_DEFAULT", 0)) if debug is None else bool(debug)
    opt = bool(getattr(now, "OPT", 3) != 0) if opt is None else bool(opt)
    warn_of_combinations(debug, opt, False)
    return {
        "debug": debug, "lineinfo": lineinfo, "fastmath": fastmath, "opt": opt, "launch_bounds": launch_bounds
    }  # fmt: skip


def _plain_function(pyfunc):
    if not callable(pyfunc):
        raise TypeError(f"{pyfunc!r} is not a callable object")

    function, arrays = function_of(pyfunc, device=True)
    assert not arrays
    return function


def compile_for_current_device(
    pyfunc: Callable[..., Any], sig: tuple[Integer, ...], **options: Any
) -> tuple[str, Integer]:
    """compile() for the compute capability of the current (simulated) device."""
    return compile(pyfunc, sig, cc=current_device().compute_capability, **options)


def compile_ptx(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: Any = None,
    lineinfo: bool = False,
    device: bool = False,
    fastmath: bool = False,
    cc: tuple[int, ...] | None = None,
    opt: Any = None,
    abi: str = "numba",
    abi_info: Any = None,
    forceinline: bool = False,
    launch_bounds: Any = None,
) -> tuple[str, types.NoneType]:
    """compile() with other defaults: a kernel, with the Numba ABI."""
    return compile(
        pyfunc,
        sig,
        debug,
        lineinfo,
        device,
        fastmath,
        cc,
        opt,
        abi,
        abi_info,
        "ptx",
        forceinline,
        launch_bounds,
    )


def compile_ptx_for_current_device(
    pyfunc: Callable[..., Any], sig: tuple[types.Array, ...], **options: Any
) -> tuple[str, types.NoneType]:
    """compile_ptx() for the compute capability of the current (simulated) device."""
    return compile_ptx(pyfunc, sig, cc=current_device().compute_capability, **options)


def compile_all(
    pyfunc: Callable[..., Any],
    sig: tuple[Integer, ...],
    debug: Any = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: bool = False,
    cc: Any = None,
    opt: Any = None,
    abi: str = "c",
    abi_info: Any = None,
    output: str = "ltoir",
    forceinline: bool = False,
    launch_bounds: Any = None,
) -> tuple[list[str], Integer]:
    """compile(), with the code in a list, beside that of functions that are linked (there are none)."""
    ptx, result_type = compile(
        pyfunc,
        sig,
        debug,
        lineinfo,
        device,
        fastmath,
        cc,
        opt,
        abi,
        abi_info,
        output,
        forceinline,
        launch_bounds,
    )
    return [ptx], result_type
