"""Which kernels run in Python mode, and what a refusal by the compiler means.

mode auto    compiled; in Python mode when a kernel calls a debugger other than cudasim's, or uses what the compiler does not know yet
     native  compiled, or refused
     python  everything in Python mode

A refusal has a standing (frontend/pykernel/syntax/source_error.h):

not-yet       Numba's CUDA target compiles it: Python mode, with one warning that says how much slower that is
not-gpu-code  Numba's CUDA target refuses it too, so this kernel runs on no GPU: Python mode with a warning, or with
              strict checking the refusal itself
never         a result would hide the mistake (a run-time shape, a returned value, an unknown name): the refusal
"""

from __future__ import annotations

import dis
import functools
import types as python_types
from typing import TYPE_CHECKING

from cudasim import errors, options
from cudasim._numba_config import poses_as_gpu
from cudasim.compile.debugger_calls import calls_for_python_mode
from cudasim.compile.source_lines import codes_in
from cudasim.launch.kernel import CompiledKernel
from cudasim.python_mode.reach import names_in, reachable_functions
from cudasim.reports.tracebacks import OWN_CODE
from cudasim.reports.user_warnings import warn_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.launch.dispatcher import CUDADispatcher
    from cudasim.launch.kernel import Launchable
    from cudasim.types import Type


class Reason:
    """Why a kernel does not run natively: a sentence, and where in the source.

    refusal: the compiler's exception, None when a debugger is why.
    """

    def __init__(self, text: str, file: str, line: int, refusal: errors.NumbaError | None = None) -> None:
        self.text, self.file, self.line, self.refusal = text, file, line, refusal

    def __str__(self) -> str:
        return self.text

    @property
    def not_yet(self) -> Any:
        """Whether it is a gap of cudasim, which costs the user speed."""
        return self.refusal is not None and self.refusal.standing == "not-yet"


@functools.cache
def unavailable() -> str | None:
    """Why this CPython has no Python mode, in a sentence; None where it has (frontend/pyfiber/CMakeLists.txt)."""
    try:
        from cudasim import _pyfiber  # noqa: F401 - not every CPython has it
    except ImportError as error:
        return str(error)
    return None


def _run_compiled_instead(reason: str, file: str, line: int) -> None:
    """Warns that a kernel runs compiled although something asks for Python mode; once for each reason."""
    if reason not in _warned:
        _warned.add(reason)
        message = f"{reason}: {unavailable()}, so kernels run compiled"
        warn_at("python-mode", message, file, line)


_warned: set[Any] = set()


def _without_python_mode(refusal: Exception) -> Exception:
    """The compiler's refusal, which names the construct, saying that Python mode cannot stand in either."""
    refusal.args = (f"{refusal.args[0]}\n{unavailable()}, which could run this kernel", *refusal.args[1:])
    return refusal


def _python_kernel(dispatcher, argument_types, converts, reason=None, refusal=None, constants=()):
    from cudasim.python_mode.kernel import PythonKernel  # kernel imports this module

    kernel = PythonKernel(
        dispatcher.py_func, argument_types, dispatcher.targetoptions, converts, reason, refusal
    )
    kernel.constants = constants
    return kernel


def choose_kernel(
    dispatcher: CUDADispatcher, argument_types: tuple[Type, ...], converts: bool
) -> Launchable | None:
    """The kernel for these types in mode auto or python.

    :raises errors.NumbaError: what the compiler refuses and Python mode must not hide
    """
    debugger = debugger_call(dispatcher.py_func)
    try:
        kernel = CompiledKernel(
            dispatcher.py_func,
            argument_types,
            dispatcher.targetoptions,
            converts,
            without_debuggers=debugger is not None,
        )
    except Exception as error:
        if getattr(error, "standing", "never") == "never":
            raise
        refusal: Any = error.with_traceback(None)
    else:
        refusal = None
    if refusal is not None:
        if unavailable():
            raise _without_python_mode(refusal)
        not_gpu_code = refusal.standing == "not-gpu-code"
        # A warning is not enough with strict checking and where programs are told that this is a GPU.
        if not_gpu_code and (options.get("strict") or poses_as_gpu()):
            raise refusal
        reason: Reason | None = None
        if options.get("mode") != "python":
            file, line = _visible_place(dispatcher.py_func, refusal)
            reason = debugger or Reason(refusal.reason, file, line, refusal)
        return _python_kernel(dispatcher, argument_types, converts, reason, refusal if not_gpu_code else None)
    if debugger is None and options.get("mode") == "auto":
        return kernel
    if unavailable():
        if debugger is None:
            raise errors.UnsupportedError(f"CUDASIM_MODE=python: {unavailable()}")
        _run_compiled_instead(f"{debugger.text.partition('(')[0]}() in {dispatcher.__name__}() is ignored", debugger.file,
                              debugger.line)  # fmt: skip
        return kernel
    return _python_kernel(dispatcher, argument_types, converts, debugger, constants=kernel.constants)


def warn_of_not_gpu_code(name: Any, function: Any, refusal: Any) -> None:
    """The warning that a kernel runs here only."""
    message = (
        f"not-gpu-code: {name}() runs here, in CPython, but on no GPU: Numba's CUDA target refuses it "
        f"with {type(refusal).__name__}: {refusal.reason}"
    )
    finding = refusal.findings[0]._replace(severity="warning")
    file, line = _visible_place(function, refusal)
    warn_at("not-gpu-code", message, file, line, finding=finding)


def _visible_place(function, refusal):
    """File and line of what was refused; in the package's own device code (ufuncs, cuda.random) that of the function
    that it is for."""
    if not refusal.file.startswith(OWN_CODE):
        return refusal.file, refusal.line
    code = getattr(function, "__wrapped__", function).__code__
    return code.co_filename, code.co_firstlineno


def debugger_call(function: Callable[..., Any]) -> Reason | None:
    """A Reason when a kernel, or a device function that it reaches, calls a debugger."""
    for known in reachable_functions(function):
        code = getattr(known, "__code__", None)
        if code is None:
            continue
        for name in sorted(names_in(code) & calls_for_python_mode()):
            if not isinstance(known.__globals__.get(name), python_types.FunctionType) or name == "set_trace":
                line = next(_lines_naming(code, name), code.co_firstlineno)
                return Reason(f"{name}() stops in the thread that reaches it", code.co_filename, line)
    return None


def _lines_naming(code, name):
    for each in codes_in(code):
        line = each.co_firstlineno
        for step in dis.get_instructions(each):
            line = (
                getattr(step, "line_number", step.starts_line) or line
            )  # starts_line is a bool from CPython 3.13 on
            if step.argval == name:
                yield line


def kernel_for_tracer(dispatcher: Any, kernel: Any, argument_types: Any) -> Any:
    """The kernel to launch while lines are watched: a PythonKernel if the debugger or tool wants to see its own."""
    if kernel.mode == "python" or options.get("mode") == "native":
        return kernel
    if unavailable():
        code = dispatcher.py_func.__code__
        _run_compiled_instead("debuggers and coverage tools do not see the lines of kernels", code.co_filename,
                              code.co_firstlineno)  # fmt: skip
        return kernel
    from cudasim.python_mode import debuggers  # debuggers imports this module

    if not debuggers.wants_lines_of(dispatcher.py_func):
        return kernel
    traced = dispatcher._traced
    if argument_types not in traced:
        traced[argument_types] = _python_kernel(dispatcher, kernel.argument_types, kernel.converts)
    return traced[argument_types]
