"""Python kernels → kernel images: finds source and names of a kernel and of the device functions it reaches,
and hands them to the compiler in frontend/pykernel (C++), which types them and makes NVVM IR."""

import ast
import builtins
import copy
import warnings

from cudasim import _native, errors, findings, options
from cudasim._cuda_errors import LinkerError
from cudasim._frozen_constants import frozen_constants
from cudasim._kernel_source import SourceNotAvailable, source_of
from cudasim._linked_code import images_of
from cudasim._resolve import describe, globals_of
from cudasim._tracebacks import name_in_debug_info
from cudasim.kernel_library import LibraryFunction, named


class CompiledPythonKernel:
    """image: _native.KernelImage. kernel_name: its symbol in the image. typed_ir: the typed program as text.
    argument_types: Numba's type names. constants: what it keeps of the values around it (_frozen_constants).
    result_types: (function, argument types) → result type, of all functions that it reaches.
    cooperative: whether its launches are, so that their blocks can meet at grid barriers."""

    __slots__ = ("image", "kernel_name", "typed_ir", "argument_types", "constants", "result_types", "cooperative")

    def __init__(self, image, kernel_name, typed_ir, argument_types, constants, result_types, cooperative):
        self.image, self.kernel_name, self.typed_ir = image, kernel_name, typed_ir
        self.argument_types, self.constants, self.result_types = argument_types, constants, result_types
        self.cooperative = cooperative


def compile_kernel(
    pyfunc, argument_types, *, debug=False, fastmath=False, fma=True, device_functions=None, links=(), without_debuggers=False
):
    """Compiles a plain Python function as a kernel for the given types (Numba's names).

    Raises errors.TypingError, errors.UnsupportedError and their kind, whose message names file, line, the source
    line with a caret, and the reason.

    :param debug: accepted for symmetry: checks are always compiled in, and raising is a launch option
    :param links: files and LinkableCode with device functions that the kernel calls (cuda.declare_device)
    :param without_debuggers: leave calls of debuggers out, to know what the compiler says to the rest
    :param fma: mark floating-point operations as contractible; whether they are fused is a launch option
    """
    del debug, device_functions
    try:
        result, constants, order = _with_library(pyfunc, links, without_debuggers, list(map(str, argument_types)),
                                          fastmath=bool(fastmath), fma=fma)  # fmt: skip
    except _native.SourceError as error:
        refusal = _as_numba_error(error)
    except _native.LinkError as error:
        raise LinkerError(str(error)) from None
    else:
        for message, file, line in result["notes"]:
            warnings.warn_explicit(message, errors.CudasimWarning, file, line, registry={})
        if options.get("keep_images"):
            from cudasim._kept_images import keep

            keep(result["image"], pyfunc.__name__, options.get("keep_images"))
        return CompiledPythonKernel(result["image"], result["kernel_name"], result["typed_ir"], tuple(argument_types),
                                    constants, {(order[number], arguments): returned
                                                for number, arguments, returned in result["overloads"]},
                                    result["cooperative"])
    raise refusal


def _with_library(pyfunc, links, without_debuggers, argument_types, **flags):
    """The compiler's result, constants, and the functions. Operations on some types are functions of the library: which
    ones it takes is known only when the types are."""
    library = []
    while True:
        functions, sources, constants, libraries, order = _gather(pyfunc, links, without_debuggers, library)
        try:
            result = _native.compile_python(functions, argument_types, sorted(sources.items()), libraries, **flags)
            return result, constants, order
        except _native.MissingLibraryFunction as missing:
            library.append(str(missing))


def _gather(pyfunc, links, without_debuggers, library=()):
    """The kernel and, transitively, every function that it names, in the form of compile_python(); source files;
    constants; images of the code that they link; the functions themselves.

    :param library: names of functions of the library that it needs without naming them
    """
    order, numbers, functions, sources, constants = [(pyfunc, (), "", False)], {}, [], {}, []
    links = dict.fromkeys(links)

    def register(dispatcher):
        links.update(dict.fromkeys(getattr(dispatcher, "links", ())))
        if hasattr(dispatcher, "__cudasim_foreign__"):
            return None
        signatures = getattr(dispatcher, "device_signatures", ())
        in_library = isinstance(dispatcher, LibraryFunction)
        key = (dispatcher.py_func, signatures, *((dispatcher.name, dispatcher.exact) if in_library else ("", False)))
        if key not in numbers:
            numbers[key] = len(order)
            order.append(key)
        return numbers[key]

    for name in library:
        register(named(name))
    for function, signatures, library_name, exact in order:  # grows while it runs
        try:
            source = source_of(function)
        except SourceNotAvailable as error:
            raise _without_source(error, function) from None
        file = name_in_debug_info(source.file)
        sources[file] = source.file_text
        outer = globals_of(function, source.node, register)
        if not library_name:
            constants += frozen_constants(function, source, outer)
        functions.append({
            "node": _stripped(source.node) if without_debuggers else source.node, "line_offset": source.line_offset, "file": file,
            "first_line": source.first_line, "lines": source.lines,
            "globals": outer,
            "defaults": [describe(value, "default", register) for value in function.__defaults__ or ()],
            "signatures": [(list(arguments), result or "") for arguments, result in signatures],
            "library_name": library_name, "exact_signatures": exact,
        })
    return functions, sources, constants, images_of(links), [function for function, *_ in order]


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
