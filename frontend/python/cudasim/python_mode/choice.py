"""Which kernels run in Python mode.

auto    compiled; in Python mode when a kernel calls a debugger, or uses what the compiler does not know yet
native  compiled, or refused
python  everything in Python mode
"""

import types as python_types

from cudasim import errors, options
from cudasim.cuda.kernel import CompiledKernel
from cudasim.python_mode.reach import names_in, reachable_functions

_DEBUGGER_CALLS = {"breakpoint", "set_trace", "post_mortem", "wait_for_client"}


class Reason:
    """Why a kernel does not run natively: a sentence, and where in the source."""

    def __init__(self, text, file=None, line=None, asked_for=False):
        """
        :param asked_for: the user wants Python mode, so that there is nothing to warn of
        """
        self.text, self.file, self.line, self.asked_for = text, file, line, asked_for

    def __str__(self):
        return self.text


def _python_kernel(dispatcher, argument_types, converts, reason=None):
    from cudasim.python_mode.kernel import PythonKernel

    return PythonKernel(dispatcher.py_func, argument_types, dispatcher.targetoptions, converts, reason)


def choose_kernel(dispatcher, argument_types, converts):
    """The kernel for these types in mode auto or python."""
    if options.get("mode") == "python":
        return _python_kernel(dispatcher, argument_types, converts)
    place = debugger_call(dispatcher.py_func)
    if place is not None:
        return _python_kernel(dispatcher, argument_types, converts, place)
    try:
        return CompiledKernel(dispatcher.py_func, argument_types, dispatcher.targetoptions, converts)
    except errors.NumbaError as refusal:
        if not getattr(refusal, "not_yet", False):
            raise
        reason = Reason(refusal.reason, refusal.file, refusal.line)
    return _python_kernel(dispatcher, argument_types, converts, reason)


def debugger_call(function):
    """A Reason when a kernel, or a device function that it reaches, calls a debugger."""
    for known in reachable_functions(function):
        code = getattr(known, "__code__", None)
        called = names_in(code) & _DEBUGGER_CALLS if code is not None else None
        for name in sorted(called or ()):
            if not isinstance(known.__globals__.get(name), python_types.FunctionType):
                line = _line_of(code, name)
                return Reason(f"{name}() stops in the thread that reaches it", code.co_filename, line, asked_for=True)
    return None


def _line_of(code, name):
    """The first line on which a code object names something."""
    for line in _lines_naming(code, name):
        return line
    return code.co_firstlineno


def _lines_naming(code, name):
    import dis

    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.starts_line or line
        if step.argval == name:
            yield line
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            yield from _lines_naming(constant, name)


def kernel_for_tracer(dispatcher, kernel, argument_types):
    """The kernel to launch while a trace function is set: a PythonKernel if the tracer wants to see its lines."""
    from cudasim.python_mode import debuggers

    if kernel.mode == "python" or options.get("mode") == "native" or not debuggers.wants_lines_of(dispatcher.py_func):
        return kernel
    traced = dispatcher._traced
    if argument_types not in traced:
        traced[argument_types] = _python_kernel(dispatcher, kernel.argument_types, kernel.converts)
    return traced[argument_types]
