"""Python kernels → kernel images: finds source and names of a kernel and of the device functions it reaches,
and hands them to the compiler in frontend/pykernel (C++), which types them and makes NVVM IR."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from typing import TYPE_CHECKING

from cudasim import _native, errors, findings, kernel_library, options
from cudasim._cuda_errors import LinkerError
from cudasim.compile import overloads
from cudasim.compile.debugger_calls import as_compiled
from cudasim.compile.frozen_constants import frozen_constants
from cudasim.compile.kept_images import keep
from cudasim.compile.kernel_source import SourceNotAvailable, copied, give_source, source_of
from cudasim.compile.linked_code import images_of
from cudasim.compile.namespace_names import with_namespaces_in_place
from cudasim.compile.resolve import describe, globals_of
from cudasim.compile.source_lines import noting_texts, remember_lines
from cudasim.reports import progress
from cudasim.reports.raised_exceptions import RaisedExceptions
from cudasim.reports.tracebacks import name_in_debug_info
from cudasim.reports.user_warnings import warn_at
from cudasim.types import as_type, from_compiler, name_of, none, public

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cudasim.types import Type


class CompiledPythonKernel:
    """image: _native.KernelImage. kernel_name: its symbol in the image. typed_ir: the typed program as text.
    argument_types, result_type: its types. constants: what it keeps of the values around it (_frozen_constants).
    result_types: (function, argument types) → result type, of all functions that it reaches.
    cooperative: whether its launches are, so that their blocks can meet at grid barriers.
    links: paths and LinkableCode with the foreign functions that it reaches. notes: what compiling it warned of."""

    __slots__ = ("image", "kernel_name", "typed_ir", "argument_types", "result_type", "constants", "exceptions", "result_types",
                 "cooperative", "links", "notes")  # fmt: skip

    def __init__(self, result: dict[str, Any], argument_types: tuple[Type, ...], program: _Program) -> None:
        self.image, self.kernel_name, self.typed_ir = (
            result[part] for part in ("image", "kernel_name", "typed_ir")
        )
        self.argument_types, self.constants, self.exceptions = (
            argument_types,
            program.constants,
            program.exceptions,
        )
        self.cooperative, self.links, self.notes = result["cooperative"], program.links, result["notes"]
        self.result_types = {
            (program.order[number], given): found
            for number, given, found in program.overloads
            if number < len(program.order)
        }  # functions inside functions come after
        self.result_type = next((found for number, _, found in program.overloads if number == 0), none)

    def state(self) -> Any:
        """What another process can make it of again, but for the functions around the kernel and their constants."""
        kept = {name: getattr(self, name) for name in self.__slots__}
        return kept | {"image": self.image.serialise(), "constants": [], "result_types": {}}

    @classmethod
    def from_state(cls, state: Any) -> Any:
        """The inverse of state()."""
        compiled = cls.__new__(cls)
        for name, value in state.items():
            setattr(compiled, name, value)
        compiled.image = _native.KernelImage.deserialise(state["image"])
        return compiled


def compile_kernel(
    pyfunc: Callable[..., Any],
    argument_types: Iterable[Any],
    *,
    debug: bool = False,
    fastmath: bool = False,
    fma: bool = True,
    device_functions: Any = None,
    links: tuple[Any, ...] = (),
    without_debuggers: bool = False,
) -> CompiledPythonKernel:
    """Compiles a plain Python function as a kernel for the given types, in any form that as_type() takes.

    Raises errors.TypingError, errors.UnsupportedError and their kind, whose message names file, line, the source
    line with a caret, and the reason.

    :param debug: accepted for symmetry: checks are always compiled in, and raising is a launch option
    :param links: files and LinkableCode with device functions that the kernel calls (cuda.declare_device)
    :param without_debuggers: leave calls of debuggers out, to know what the compiler says to the rest
    :param fma: mark floating-point operations as contractible; whether they are fused is a launch option
    """
    del debug, device_functions
    kinds = tuple(map(as_type, argument_types))
    return _compile(pyfunc, kinds, links, without_debuggers, fastmath=bool(fastmath), fma=fma)


def compile_device_function(
    pyfunc: Callable[..., Any],
    argument_types: Iterable[Any],
    *,
    abi: str,
    name: str | None = None,
    result_type: Type | None = None,
    fastmath: bool = False,
) -> CompiledPythonKernel:
    """Compiles a plain Python function as a device function that others can call. Errors as of compile_kernel().

    :param abi: "c" or "numba"
    :param name: its symbol, if not one made of its own name (and types, with abi "numba")
    :param result_type: what its result is converted to; None: its own type
    """
    kinds = tuple(map(as_type, argument_types))
    if name is None:
        name = re.sub(r"\W", "_", pyfunc.__name__) if abi == "c" else _numba_symbol(pyfunc, kinds)
    elif not re.fullmatch(r"[A-Za-z_$][\w$]*", name, re.ASCII):
        raise ValueError(
            f"abi_name is the name of a function in PTX (letters, digits, _ and $), not {name!r}"
        )
    return _compile(
        pyfunc,
        kinds,
        (),
        False,
        fastmath=bool(fastmath),
        fma=True,
        variable_reads=False,
        entry=abi,
        entry_name=name,
        result_type="" if result_type is None else name_of(result_type),
    )


def _numba_symbol(pyfunc, argument_types):
    parts = [*pyfunc.__module__.split("."), pyfunc.__name__]
    mangled = "".join(f"{len(part)}{part}" for part in (re.sub(r"\W", "_", part) for part in parts))
    types = "".join(
        f"{len(part)}{part}" for part in (re.sub(r"\W+", "_", name_of(kind)) for kind in argument_types)
    )
    return f"_ZN{mangled}E{types or 'v'}"


def _compile(pyfunc, argument_types, links, without_debuggers, **options_of_compiler):
    program = _Program(pyfunc, links, without_debuggers)
    refusal: Any = None
    failure: BaseException | None = None
    try:
        result = _native.compile_python(
            program,
            list(map(name_of, argument_types)),
            progress=progress.shown_as(pyfunc.__name__, "compiling"),
            progress_after_seconds=progress.AFTER_SECONDS,
            **options_of_compiler,
        )
    except _native.LinkError as error:
        refusal = LinkerError(_with_source_line(str(error), program.sources))
    except _native.SourceError as error:
        refusal = _as_numba_error(error)
        failure = program.failures.get(refusal.reason)
    if failure is not None:
        raise _located(failure, refusal) from failure.__cause__
    if refusal is not None:
        raise refusal
    for message, file, line in result["notes"]:
        warn_at("not-gpu-code", message, file, line)
    # Most names are those of the kernel's arguments, which need not be read.
    known = {kind.compiler_name: kind for kind in argument_types if str(kind) == kind.compiler_name}

    def named(name):
        return known[name] if name in known else from_compiler(name)

    program.overloads = [
        (number, tuple(map(named, given)), named(returned)) for number, given, returned in result["overloads"]
    ]
    for number, given, returned in program.overloads:
        if hasattr(program.dispatchers.get(number), "note_overload"):
            program.dispatchers[number].note_overload(given, returned)
    if options.get("keep_images") and result["image"].kernels:
        keep(result["image"], pyfunc.__name__, options.get("keep_images"))
    return CompiledPythonKernel(result, argument_types, program)


class _Program:
    """The kernel and, transitively, every function that it names, in the form of compile_python(), which asks for what
    types show to be needed beside them: library_function(), overload(), attribute(). The answers add to the program.

    functions: that form. order: the functions themselves. sources: file → text. constants: see _frozen_constants.
    dispatchers: of the functions, by number. exceptions: what they raise.
    overloads: (number, argument types, result type) of each function for each combination of types that it was compiled for.
    failures: what went wrong in what the program has written → the exception.
    """

    def __init__(self, pyfunc, links, without_debuggers):
        self.functions, self.order, self.sources, self.constants, self.dispatchers = [], [], {}, [], {}
        self.overloads = []
        self._without_debuggers = without_debuggers
        self.exceptions = RaisedExceptions()
        self._numbers, self._overloaded, self._links = {}, {}, dict.fromkeys(links)
        self._intrinsics = {}  # symbol → images
        self.failures = {}
        self._add(pyfunc, ())
        self._describe_all()

    def _add(self, function, signatures, library_name="", exact=False, overloaded=None):
        self.order.append(function)
        declared = [(list(map(name_of, arguments)), "" if result is None else name_of(result))
                    for arguments, result in signatures]  # fmt: skip
        binds = overloaded is not None and overloaded.parameters_of is None
        self.functions.append({"signatures": declared,
                               "library_name": library_name, "exact_signatures": exact,
                               "is_overloaded": overloaded is not None, "binds_arguments": binds})  # fmt: skip
        number = len(self.order) - 1
        if overloaded is not None:
            self._overloaded[number] = overloaded
        return number

    @property
    def links(self):
        """What the functions link: paths and LinkableCode."""
        return tuple(self._links)

    def libraries(self):
        """Images of that code, and of what intrinsics generated."""
        return images_of(self._links) + [image for images in self._intrinsics.values() for image in images]

    def library_function(self, name):
        """The number of a function of cudasim.kernel_library, which an operation in the kernel turned out to be."""
        return self._described(self._register(kernel_library.named(name)))

    def overload(self, number, type_names):
        """What a call of the overloaded function of this number means for arguments of these types.

        :return: ((number of a function, whether it is for literal types) or (symbol, (parameters, result)) of an intrinsic
            or None, what implementers have to say against it, why code cannot be generated for it or "")
        """
        try:
            return *self._overload(number, type_names), ""
        except Exception as error:  # whatever the program raises
            return None, [], self._failed(error)

    def _failed(self, error):
        if isinstance(error, errors.NumbaError) and not isinstance(error, errors.LoweringError):
            raise error
        for described in self.functions:
            if "node" not in described:  # it was being described
                described.update(_without_parameters("failed"))
        text = str(error) if isinstance(error, (errors.LoweringError, LinkerError)) else repr(error)
        self.failures[text] = error
        return text

    def _overload(self, number, type_names):
        overloaded = self._overloaded[number]
        try:
            if isinstance(overloaded, overloads.Intrinsic):
                return self._generated(overloaded, [name for name in type_names if name != "omitted"]), []
            if overloaded.parameters_of is not None:
                positional, named = _as_given(overloaded.parameters_of, type_names, self._public)
                with noting_texts() as texts:
                    function, literal = overloaded.implementation(positional, named)
                if texts and inspect.isfunction(function):
                    remember_lines(function, texts)
            else:
                function, literal = self._of_python(overloaded, type_names)
                if function is None:
                    return self._generated(overloaded, type_names), []
        except errors.TypingError as error:
            return None, [str(error)]
        if function is None:
            return None, []
        key = (function, ())
        if key not in self._numbers:
            self._numbers[key] = self._add(function, ())
        return (self._described(self._numbers[key]), literal), []

    def _public(self, name):
        """The type as users see it, of a name in a question of the compiler's; that of a device function is its dispatcher's."""
        text, _, number = name.partition("#") if name.startswith("Function(") else (name, "", "")
        dispatcher = self.dispatchers.get(int(number)) if number else None
        kind = None if dispatcher is None else overloads.type_of_device_function(dispatcher)
        return public(from_compiler(text)) if kind is None else kind

    def _of_python(self, overloaded, type_names):
        if not isinstance(overloaded, overloads.Both):
            return None, False
        return overloaded.implementation(*_by_position_and_name(type_names, self._public))

    def _generated(self, intrinsic, type_names):
        code = intrinsic.code(*_by_position_and_name(type_names, self._public))
        if code is None:
            return None
        self._intrinsics[code.symbol] = code.images
        return code.symbol, (code.parameters, code.result), code.frame_bytes

    def attribute(self, type_name, name):
        """(Number of the overloaded function that a program has added as an attribute of values of a type or None, whether it is a
        method, why what it has written for that fails or "")."""
        try:
            return *(self._attribute(type_name, name) or (None, False)), ""
        except Exception as error:  # whatever the program raises
            return None, False, self._failed(error)

    def _attribute(self, type_name, name):
        kind = public(from_compiler(type_name))
        found = overloads.of_attribute(kind, name) if name in overloads.attribute_names() else None
        if found is None:
            added = overloads.added_attribute(kind, name)
            if added is None:
                return None
            found = added, hasattr(added, "is_method")
        overloaded, is_method = found
        return self._described(self._register(overloaded)), is_method

    def operation(self, name):
        """The number of the function that an operator, or a function of the compiler's, is for values of types that the program has
        added; None where it says nothing of it."""
        overloaded = overloads.of_operation(name, from_compiler)
        return None if overloaded is None else self._described(self._register(overloaded))

    def member(self, module, name):
        """The description of what a module has under a name."""
        value = getattr(sys.modules.get(module), name, None)
        described = ("undefined",) if value is None else describe(value, f"{module}.{name}", self._register)
        if described[0] == "function":
            self._describe_all()
        return described

    def _register(self, callee):
        """The number of a dispatcher's function, or of an Overloaded; of a declared function only its links count, of
        an exception that it is known."""
        if isinstance(callee, type):
            self.exceptions.add_class(callee)
            return None
        self._links.update(dict.fromkeys(getattr(callee, "links", ())))
        if hasattr(callee, "__cudasim_foreign__"):
            return None
        if hasattr(callee, "parameters_of"):
            key = ("overloaded", callee.function)
            if key not in self._numbers:
                self._numbers[key] = self._add(callee.parameters_of or callee.function, (), overloaded=callee)
            return self._numbers[key]
        signatures = getattr(callee, "device_signatures", ())
        library = (
            (callee.name, callee.exact) if isinstance(callee, kernel_library.LibraryFunction) else ("", False)
        )
        key = (callee.py_func, signatures, *library)
        if key not in self._numbers:
            self._numbers[key] = self._add(callee.py_func, signatures, *library)
            self.dispatchers[self._numbers[key]] = callee
        return self._numbers[key]

    def _described(self, number):
        """The number, when it and what it names are part of the program."""
        self._describe_all()
        return number

    def _describe_all(self):
        number = 0
        while number < len(self.order):  # describing one may add others
            if "node" not in self.functions[number]:
                self._describe(self.order[number], self.functions[number], self._overloaded.get(number))
            number += 1

    def _describe(self, function, described, overloaded):
        if described["binds_arguments"]:
            name = getattr(overloaded, "name", None) or getattr(function, "__name__", str(function))
            described.update(_without_parameters(name))
            return
        try:
            source = with_namespaces_in_place(function, _kept_source(function))
        except SourceNotAvailable as error:
            raise _without_source(error, function) from None
        file = name_in_debug_info(source.file)
        self.sources[file] = source.file_text
        outer = {}
        if overloaded is None:
            outer = globals_of(function, source.node, self._register)
            self.exceptions.add_statements(function, source.node)
            if not described["library_name"]:
                self.constants += frozen_constants(function, source, outer)
        node = as_compiled(source.node, outer, self._without_debuggers)
        if isinstance(overloaded, overloads.Overloaded):
            node = copied(node)
            node.name = overloaded.name
        described.update({
            "node": _without_first_parameter(node) if isinstance(overloaded, overloads.Intrinsic) else node,
            "line_offset": source.line_offset, "file": file, "first_line": source.first_line, "lines": source.lines,
            "globals": outer,
            "defaults": [describe(value, "default", self._register) for value in function.__defaults__ or ()],
        })  # fmt: skip


def _without_parameters(name):
    """The description of a function that has no source."""
    name = re.sub(r"\W", "_", name)
    node = ast.parse(f"def {name}(): pass").body[0]
    return {
        "node": node,
        "line_offset": 0,
        "file": "",
        "first_line": 1,
        "lines": [],
        "globals": {},
        "defaults": [],
    }


def _by_position_and_name(type_names, read):
    """([types (public) of positional arguments], {name: type}), of names of types of which some begin with "name=".

    :param read: name of a type → the type"""
    positional, named = [], {}
    for text in type_names:
        match = re.fullmatch(r"([^\W\d]\w*)=(.*)", text, re.DOTALL)
        kind = read(match[2] if match else text)
        if match:
            named[match[1]] = kind
        else:
            positional.append(kind)
    return positional, named


def _kept_source(function):
    """The source, which is read once of the library's functions: they stay as they are."""
    source = source_of(function)
    if (function.__module__ or "").startswith(f"{kernel_library.__name__}."):
        give_source(function, source)
    return source


def _without_first_parameter(node):
    node = copied(node)
    (node.args.posonlyargs or node.args.args).pop(0)
    return node


def _as_given(function, type_names, read):
    """Types as the call gave them, by position and by name; "omitted" stands for what it left out.

    :param read: name of a type → the type (public)"""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    count = type_names.index("omitted") if "omitted" in type_names else len(type_names)
    given = [public(none) if name == "omitted" else read(name) for name in type_names]
    if code.co_flags & inspect.CO_VARARGS and len(given) > code.co_argcount:  # a tuple of what *args gets
        rest = given[code.co_argcount]
        return [*given[: code.co_argcount], *rest.types], {}
    named = {names[i]: given[i] for i in range(count, len(type_names)) if type_names[i] != "omitted"}
    return given[:count], named


def _without_source(error, function):
    """Numba compiles such a function, from its bytecode: it is one that cudasim does not compile yet."""
    code = function.__code__
    refusal = errors.UnsupportedError(str(error))
    refusal.reason, refusal.file, refusal.line, refusal.column = (
        str(error),
        code.co_filename,
        code.co_firstlineno,
        0,
    )
    refusal.standing, refusal.source_is_missing = "not-yet", True
    return refusal


def _with_source_line(message, sources):
    """A message with places in sources, and the text of the first line of them that is known.

    :param sources: file → text"""
    for place in re.finditer(r'^  .*File "(.*)", line (\d+), in .*$', message, re.MULTILINE):
        lines = sources.get(place[1], "").splitlines()
        if int(place[2]) <= len(lines):
            return f"{message[: place.end()]}\n{lines[int(place[2]) - 1]}{message[place.end() :]}"
    return message


def _located(failure, refusal):
    """The exception of what a program has written, with the kernel's line.

    :param refusal: the compiler's, which tells where it happened"""
    if isinstance(failure, errors.LoweringError):
        return refusal
    if isinstance(failure, LinkerError):
        return LinkerError(str(refusal))
    if hasattr(failure, "add_note"):  # CPython 3.11
        failure.add_note(str(refusal).partition("\n\n")[2])
    return failure


def _not_gpu_code(error, exception_type):
    """The finding for what Numba's CUDA target refuses too; no thread did it."""
    place = findings.SourceLocation(error.file, "", error.line, error.column)
    fields: dict[str, Any] = dict.fromkeys(findings.Finding._fields)
    fields.update(kind="not-gpu-code", severity="error", message=error.reason, exception_type=exception_type,
                  cuda_error_code=0, location=(place,), count=1, threads=0, waiting=(), accesses=(), variables=(),
                  reproduce="")  # fmt: skip
    return findings.Finding(**fields)


def _as_numba_error(error):
    error_class = getattr(builtins, error.error_class, None) or getattr(errors, error.error_class)
    text = str(error)
    refusal = error_class(text)
    refusal.args = (text,)  # some classes make a sentence of their own of it
    refusal.reason, refusal.file, refusal.line, refusal.column = (
        error.reason,
        error.file,
        error.line,
        error.column,
    )
    refusal.standing = error.standing
    if error.standing != "not-yet":
        refusal.findings = [_not_gpu_code(error, type(refusal).__name__)]
    return refusal


overloads.device_function_compiler = compile_device_function
