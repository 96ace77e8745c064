"""Python kernels → kernel images: finds source and names of a kernel and of the device functions it reaches,
and hands them to the compiler in frontend/pykernel (C++), which types them and makes NVVM IR."""

import ast
import builtins
import copy
import warnings

from cudasim import _native, errors, findings, options
from cudasim._frozen_constants import frozen_constants
from cudasim._kernel_source import SourceNotAvailable, source_of
from cudasim._resolve import describe, globals_of
from cudasim._tracebacks import name_in_debug_info


class CompiledPythonKernel:
    """image: _native.KernelImage. kernel_name: its symbol in the image. typed_ir: the typed program as text.
    argument_types: Numba's type names. constants: what it keeps of the values around it (_frozen_constants).
    result_types: (function, argument types) → result type, of all functions that it reaches."""

    __slots__ = ("image", "kernel_name", "typed_ir", "argument_types", "constants", "result_types")

    def __init__(self, image, kernel_name, typed_ir, argument_types, constants, result_types):
        self.image, self.kernel_name, self.typed_ir = image, kernel_name, typed_ir
        self.argument_types, self.constants, self.result_types = argument_types, constants, result_types


def compile_kernel(
    pyfunc, argument_types, *, debug=False, fastmath=False, fma=True, device_functions=None, without_debuggers=False
):
    """Compiles a plain Python function as a kernel for the given types (Numba's names).

    Raises errors.TypingError, errors.UnsupportedError and their kind, whose message names file, line, the source
    line with a caret, and the reason.

    :param debug: accepted for symmetry: checks are always compiled in, and raising is a launch option
    :param without_debuggers: leave calls of debuggers out, to know what the compiler says to the rest
    :param fma: mark floating-point operations as contractible; whether they are fused is a launch option
    """
    del debug, device_functions
    functions, sources, constants, order = _gather(pyfunc, without_debuggers)
    try:
        result = _native.compile_python(functions, list(map(str, argument_types)), sorted(sources.items()),
                                        fastmath=bool(fastmath), fma=fma)
    except _native.SourceError as error:
        refusal = _as_numba_error(error)
    else:
        for message, file, line in result["notes"]:
            warnings.warn_explicit(message, errors.CudasimWarning, file, line, registry={})
        if options.get("keep_images"):
            from cudasim._kept_images import keep

            keep(result["image"], pyfunc.__name__, options.get("keep_images"))
        return CompiledPythonKernel(result["image"], result["kernel_name"], result["typed_ir"], tuple(argument_types),
                                    constants, {(order[number], arguments): returned
                                                for number, arguments, returned in result["overloads"]
                                                if number < len(order)})  # functions inside functions come after
    raise refusal


def _gather(pyfunc, without_debuggers):
    """The kernel and, transitively, every function that it names, in the form of compile_python(); source files;
    constants; the functions themselves."""
    order, numbers, functions, sources, constants = [(pyfunc, ())], {}, [], {}, []

    def register(dispatcher):
        signatures = getattr(dispatcher, "device_signatures", ())
        key = (dispatcher.py_func, signatures)
        if key not in numbers:
            numbers[key] = len(order)
            order.append(key)
        return numbers[key]

    for function, signatures in order:  # grows while it runs
        try:
            source = source_of(function)
        except SourceNotAvailable as error:
            raise _without_source(error, function) from None
        file = name_in_debug_info(source.file)
        sources[file] = source.file_text
        outer = globals_of(function, source.node, register)
        constants += frozen_constants(function, source, outer)
        functions.append({
            "node": _stripped(source.node) if without_debuggers else source.node, "line_offset": source.line_offset, "file": file,
            "first_line": source.first_line, "lines": source.lines,
            "globals": outer,
            "defaults": [describe(value, "default", register) for value in function.__defaults__ or ()],
            "signatures": [(list(arguments), result or "") for arguments, result in signatures],
        })
    return functions, sources, constants, [function for function, _ in order]


#: Functions by which code stops in a debugger, and the modules of debuggers.
DEBUGGER_CALLS = frozenset(("breakpoint", "set_trace", "wait_for_client"))
_DEBUGGERS = frozenset(("pdb", "pudb", "ipdb", "debugpy", "IPython", "pydevd", "rpdb", "web_pdb", "celery"))


class _DebuggerStripper(ast.NodeTransformer):
    def visit_Expr(self, node):  # noqa: N802 - ast's name
        function = node.value.func if isinstance(node.value, ast.Call) else None
        name = getattr(function, "id", None) or getattr(function, "attr", None)
        return ast.copy_location(ast.Pass(), node) if name in DEBUGGER_CALLS else node

    def _import(self, node):
        module = getattr(node, "module", None) or node.names[0].name
        return ast.copy_location(ast.Pass(), node) if module.partition(".")[0] in _DEBUGGERS else node

    visit_Import = visit_ImportFrom = _import  # noqa: N815 - ast's names


def _stripped(node):
    return _DebuggerStripper().visit(copy.deepcopy(node))


def _without_source(error, function):
    """Numba compiles such a function, from its bytecode: it is one that cudasim does not compile yet."""
    code = function.__code__
    refusal = errors.UnsupportedError(str(error))
    refusal.reason, refusal.file, refusal.line, refusal.column = str(error), code.co_filename, code.co_firstlineno, 0
    refusal.standing, refusal.source_is_missing = "not-yet", True
    return refusal


def _not_gpu_code(error, exception_type):
    """The finding for what Numba's CUDA target refuses too; no thread did it."""
    place = findings.SourceLocation(error.file, "", error.line, error.column)
    fields = dict.fromkeys(findings.Finding._fields)
    fields.update(kind="not-gpu-code", severity="error", message=error.reason, exception_type=exception_type,
                  cuda_error_code=0, location=(place,), count=1, threads=0, waiting=(), reproduce="")  # fmt: skip
    return findings.Finding(**fields)


def _as_numba_error(error):
    error_class = getattr(builtins, error.error_class, None) or getattr(errors, error.error_class)
    refusal = error_class(str(error))
    refusal.args = (str(error),)  # some classes make a sentence of their own of it
    refusal.reason, refusal.file, refusal.line, refusal.column = error.reason, error.file, error.line, error.column
    refusal.standing = error.standing
    if error.standing != "not-yet":
        refusal.findings = [_not_gpu_code(error, type(refusal).__name__)]
    return refusal
