"""`cuda.jit`, with numba.cuda's arguments."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

from cudasim import errors, types
from cudasim.compile.kernel_function import BoundKernel, function_of
from cudasim.compile.linked_code import checked_links
from cudasim.launch.dispatcher import CUDADispatcher

if TYPE_CHECKING:
    from typing import Any

# Accepted because they change nothing that a simulator shows: name → why.
_WITHOUT_EFFECT = {
    "forceinline": "the compiler decides",
    "inline": "the compiler decides",
    "lineinfo": "line information is always there",
    "lto": "there is nothing to link",
}
_WITH_EFFECT = (
    "device",
    "debug",
    "extensions",
    "fastmath",
    "launch_bounds",
    "max_registers",
    "opt",
    "shared_memory_carveout",
)
_REFUSED: dict[str, tuple[str | type[Exception], str]] = {
    "boundscheck": (
        NotImplementedError,
        "bounds checking is not supported for CUDA as an option; cudasim checks every access without it",
    ),
    "argtypes": (
        "DeprecationError",
        'Signatures should be passed as the first positional argument: @cuda.jit("void(float32[:])")',
    ),
    "restype": (
        "DeprecationError",
        'Signatures should be passed as the first positional argument: @cuda.jit("int32(int32)", device=True)',
    ),
    "bind": ("DeprecationError", "Kernels are bound when they are compiled"),
}
_CARVEOUTS = ("default", "maxl1", "maxshared")


def jit(
    func_or_sig: Any = None,
    device: bool = False,
    inline: str = "never",
    forceinline: bool = False,
    link: Any = (),
    debug: bool | None = None,
    opt: bool | None = None,
    lineinfo: bool = False,
    cache: bool = False,
    launch_bounds: Any = None,
    lto: bool | None = None,
    shared_memory_carveout: Any = None,
    **kws: Any,
) -> Any:
    """Makes a function a kernel (or, with device=True, a function for kernels to call).

    Use it as `@cuda.jit`, `@cuda.jit(debug=True, …)` or with signatures, `@cuda.jit("void(float32[:])")`,
    which compile at once and accept only arguments that convert to the declared types.

    :param debug: float division by zero raises ZeroDivisionError (everything else always raises)
    :param opt: False compiles without optimisation
    :param fastmath: operations may be reassociated, divisions become multiplications by reciprocals, signed zeros
        do not count; the same flags go to both back ends
    :param link: files and LinkableCode with device functions that were declared with cuda.declare_device()
    :param cache: keeps what is compiled in files, for the next process (function_cache.py)
    :param launch_bounds: threads per block that a launch may have at most, or a tuple that begins with it
    """
    _check_options(kws, device)
    _check_carveout(shared_memory_carveout)
    debug = os.environ.get("NUMBA_CUDA_DEBUGINFO", "0") not in ("", "0") if debug is None else bool(debug)
    opt = os.environ.get("NUMBA_OPT", "") != "0" if opt is None else bool(opt)
    warn_of_combinations(debug, opt, lineinfo)
    target_options = {
        "debug": debug,
        "opt": opt,
        "fastmath": bool(kws.get("fastmath", False)),
        "lineinfo": lineinfo,
        "inline": inline,
        "launch_bounds": _checked_bounds(launch_bounds),
        "max_registers": _checked_registers(kws.get("max_registers")),
        "extensions": list(kws.get("extensions") or ()),
        "link": checked_links(link),
        "cache": bool(cache),
        "device": device,
    }

    def make(function, signatures=()):
        function, arrays = function_of(function, device)
        dispatcher = CUDADispatcher(function, target_options, signatures, device)
        return BoundKernel(dispatcher, arrays) if arrays else dispatcher

    if func_or_sig is None:
        return make
    if not types.is_signature(func_or_sig):
        if isinstance(func_or_sig, types.Type):
            func_or_sig = (func_or_sig,)
        elif not callable(func_or_sig) and not isinstance(func_or_sig, (classmethod, staticmethod)):
            raise TypeError(
                f"{func_or_sig!r} is not a callable object; @cuda.jit takes a function or a signature"
            )
        else:
            return make(func_or_sig)
    is_list = isinstance(func_or_sig, list)
    signatures = [
        types.parse_signature(signature) for signature in (func_or_sig if is_list else [func_or_sig])
    ]
    if not device:
        _check_void(signatures)

    def make_declared(function):
        dispatcher = make(function, signatures)
        dispatcher.specialized = not is_list and bool(dispatcher.overloads)
        return dispatcher

    return make_declared


def _check_void(signatures):
    for argument_types, returns in signatures:
        if returns not in (None, types.none):
            raise TypeError(
                f"CUDA kernel must have void return type. Write void({', '.join(map(str, argument_types))}), not {returns}(…)"
            )


def _check_options(given, device):
    for name, value in given.items():
        if name in _REFUSED:
            kind, reason = _REFUSED[name]
            if isinstance(kind, str) and value is not None:
                raise getattr(errors, kind)(f"Deprecated keyword argument `{name}`. {reason}")
            if value and not isinstance(kind, str):
                raise kind(f"@cuda.jit({name}=…): {reason}")
        # Numba passes what it does not know on to what compiles kernels; device functions never get there.
        if name not in _REFUSED and name not in _WITHOUT_EFFECT and name not in _WITH_EFFECT and not device:
            raise TypeError(f"@cuda.jit() got an unexpected keyword argument {name!r}")


def _check_carveout(carveout):
    if carveout is None:
        return
    if isinstance(carveout, str):
        if carveout.lower() not in _CARVEOUTS:
            raise ValueError(
                f"Invalid carveout value: {carveout}. Must be -1 to 100 or one of {list(_CARVEOUTS)}"
            )
    elif not isinstance(carveout, int):
        raise TypeError(f"shared_memory_carveout must be str or int, got {type(carveout).__name__}")
    elif not -1 <= carveout <= 100:
        raise ValueError(f"Carveout must be between -1 and 100, got {carveout}")


def _checked_bounds(bounds):
    items = bounds if isinstance(bounds, tuple) else (bounds,)
    if bounds is not None and not (
        1 <= len(items) <= 3 and all(isinstance(item, int) and item > 0 for item in items)
    ):
        raise ValueError(
            f"launch_bounds is the maximal number of threads per block, or a tuple (threads per block, blocks per "
            f"multiprocessor, blocks per cluster), got {bounds!r}"
        )
    return bounds


def warn_of_combinations(debug: bool, opt: bool, lineinfo: bool) -> None:
    """Warns as Numba does of options that contradict each other on a GPU."""
    if debug and opt:
        warnings.warn(
            errors.NumbaInvalidConfigWarning(
                "debug=True with opt=True is not supported by CUDA. On a GPU this may result in a crash - set "
                "debug=False or opt=False."
            ),
            stacklevel=3,
        )
    if debug and lineinfo:
        warnings.warn(
            errors.NumbaInvalidConfigWarning(
                "debug and lineinfo are mutually exclusive on a GPU: debug gives full debug information, lineinfo line "
                "numbers only."
            ),
            stacklevel=3,
        )


def _checked_registers(count):
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise ValueError(f"max_registers is a number of registers per thread, got {count!r}")
    return count
