"""The stages of a kernel's compilation, for `cudasim ir`: the script runs until the kernel is compiled."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from cudasim import switch
from cudasim.script_runner import ScriptError, execute

if TYPE_CHECKING:
    from typing import Any

STAGES = ("typed", "nvvm", "instrumented", "ptx")


class KernelNotFoundError(Exception):
    """The script ended without compiling the kernel that was asked for."""


class _KernelCompiledSignal(BaseException):
    """Ends the script: the kernel that was asked for has been compiled."""

    def __init__(self, kernel):
        self.kernel = kernel


def text_of(kernel: Any, stage: Any, architecture: Any = None) -> Any:
    """A cudasim.launch.kernel.CompiledKernel at one of STAGES, as text."""
    from cudasim import _native, options  # other commands need no engine

    if stage == "typed":
        return kernel.typed_ir
    if stage == "nvvm":
        return kernel.image.ir_text()
    if stage == "instrumented":
        return _native.instrumented_ir(kernel.image, kernel.kernel_name, options.get("check"))
    from cudasim.compile.gpu_code import ptx_of

    return ptx_of(
        kernel.image, kernel.kernel_name, architecture, {"lineinfo": True, **_said(kernel.target_options)}
    )


def _said(target_options):
    return {name: value for name, value in target_options.items() if value or name == "opt"}


def of_script(arguments: Any, name: Any, stage: Any, architecture: Any = None) -> Any:
    """Runs [script, arguments…] until a kernel called `name` is compiled; its text at the stage.

    :raises KernelNotFoundError: naming the kernels that were compiled instead
    """
    from cudasim.launch import kernel as kernel_module  # other commands need no engine

    seen = []

    def listen(kernel):
        seen.append(kernel.py_func.__name__)
        if name in (kernel.py_func.__name__, kernel.py_func.__qualname__):
            raise _KernelCompiledSignal(kernel)

    switch.enable()
    kernel_module.compiled_listeners.append(listen)
    ended_with = "ended"
    try:
        with contextlib.redirect_stdout(sys.stderr):
            execute(arguments)
    except _KernelCompiledSignal as signal:
        return text_of(signal.kernel, stage, architecture)
    except ScriptError as error:
        raise KernelNotFoundError(str(error)) from None
    except SystemExit as exit_request:
        ended_with = f"exited with status {exit_request.code}"
    except Exception as error:  # noqa: BLE001 - whatever the script raises
        ended_with = f"raised {type(error).__name__}: {error}"
    finally:
        kernel_module.compiled_listeners.remove(listen)
    known = ", ".join(dict.fromkeys(seen)) or "none"
    raise KernelNotFoundError(
        f"{arguments[0]} {ended_with} before a kernel called '{name}' was compiled; kernels "
        f"that were: {known}"
    )
