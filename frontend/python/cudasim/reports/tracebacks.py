"""Tracebacks that end at the kernel's own lines (design rule C2).

A kernel runs as machine code and has no Python frames. For a finding, one function is made per entry of its
call chain, with the kernel's file name, function name, line and variables (captured_variables.py); they call each
other and the innermost one raises. What pytest, editors and notebooks show is then a traceback like that of a plain Python function.
Frames of this package are cut out (cudasim._native.FramelessCall and `without_package_frames`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import keyword
import linecache
import os
import re
import sys
import types
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    from cudasim.findings import SourceLocation

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: How the file names of the package's own device code begin, in debug info (findings::own_code) and of
#: kernels that are made as text.
OWN_CODE = "<cudasim>"


def _on_line(code, line):
    """The code with every instruction on this line, and without columns."""
    first, length = code.co_firstlineno, len(code.co_code)
    if sys.version_info >= (3, 11):
        return code.replace(co_linetable=_location_table(line - first, length // 2))
    # In 3.10 the line table is pairs of (bytes of code, change of line); one pair per up to 254 bytes.
    table = bytearray()
    while length > 0:
        table += bytes((min(length, 254), 0))
        length -= 254
    return code.replace(co_firstlineno=line, co_linetable=bytes(table))


def _location_table(offset, units):
    """A line table for so many code units, all `offset` lines below the function's first.

    A traceback underlines columns; those of our templates would point at nonsense. Entry kind 13 means "line only"
    (CPython, Objects/locations.md): one byte 1 1101 nnn for n+1 code units, then the line's change as a signed
    variable-length number, the sign in the lowest bit, six bits a byte.
    """
    table = bytearray()
    while units > 0:
        chunk = min(units, 8)
        table.append(0x80 | (13 << 3) | (chunk - 1))
        rest, offset = offset << 1, 0
        while rest >= 64:
            table.append(64 | rest & 63)
            rest >>= 6
        table.append(rest)
        units -= chunk
    return bytes(table)


#: Stands for the names that a frame does not have.
_NOTHING: Any = ({}, {})
#: The constant in the frames' code that _Objects replace.
_OBJECTS = "<cudasim objects>"


class _Objects(list):
    """What a frame's code takes, from the end. Code objects are hashed with their constants, by IPython for one."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # of the object, not of what it holds


@lru_cache(maxsize=256)
def _template(arguments, others, raises):
    """The code of a function that has these variables. Their values and what it calls or raises come from a constant of the
    code, so that nothing else shows among its variables."""
    lines = [f"def frame({', '.join(arguments)}):"]
    lines += [f"    {name} = {_OBJECTS!r}.pop()" for name in others]
    lines.append(f"    raise {_OBJECTS!r}.pop()" if raises else f"    {_OBJECTS!r}.pop()()")
    module = compile("\n".join(lines), OWN_CODE, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))


def _with_objects(code, objects):
    constants = tuple(objects if constant == _OBJECTS else constant for constant in code.co_consts)
    return code.replace(co_consts=constants)


def _first_line(place):
    """Where the function of a place begins, as far as its text tells: notebooks show it from there on."""
    line, lines = max(place.line, 1), linecache.getlines(place.file)
    name = re.escape(place.function.rpartition(".")[2])
    begins = re.compile(r".*\blambda\b" if place.function == "<lambda>" else rf"\s*def\s+{name}\b")
    for number in range(min(line, len(lines)), 0, -1):
        if begins.match(lines[number - 1]):
            return number
    return line


def _frame_function(place, module_globals, step, raises, arguments, others):
    """The one call of it makes a frame at this place, with these variables, that calls or raises `step`.

    :param arguments: name → value, like `others`
    """
    template = _template(tuple(arguments), tuple(others), raises)
    replacements = {
        "co_filename": place.file,
        "co_name": place.function or "<kernel>",
        "co_firstlineno": _first_line(place),
    }
    if sys.version_info >= (3, 11):
        replacements["co_qualname"] = replacements["co_name"]
    code = _on_line(template.replace(**replacements), max(place.line, 1))
    code = _with_objects(code, _Objects([step, *reversed(others.values())]))
    function = types.FunctionType(code, module_globals)
    return functools.partial(function, *arguments.values())


def _kernel_frames(traceback, frames):
    """The last `frames` entries, in order."""
    codes = []
    while traceback is not None:
        if not _is_package_frame(traceback):
            codes.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(codes[-frames:]):
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def at_kernel_lines(
    exception: Any, chain: tuple[SourceLocation, ...], module_globals: dict[str, Any], variables: Any = ()
) -> Any:
    """Gives the exception a traceback whose frames are the chain's places, kernel first, and returns it.

    :param chain: innermost place first, as Finding.location has it
    :param module_globals: the kernel's `__globals__`: loaders, source look-ups and debuggers go through them
    :param variables: of each place a pair of dictionaries, name → value: arguments, and other variables
    """
    if not chain:
        return exception.with_traceback(None)
    step, raises = exception, True  # the frame that raises it does not keep it, which would be a cycle
    for place, (arguments, others) in itertools.zip_longest(chain, variables, fillvalue=_NOTHING):
        step, raises = (
            _frame_function(place, module_globals, step, raises, _named(arguments), _named(others)),
            False,
        )
    try:
        step()
    except BaseException as raised:  # noqa: B902 - the exception we were given, whatever it is
        return exception.with_traceback(_kernel_frames(raised.__traceback__, len(chain)))
    finally:
        del exception, step  # this frame lives on behind those that it has made, and would close a cycle
    raise AssertionError("the innermost frame raises")


def _named(values):
    """Those that Python can have as variables: names that compilers make are none."""
    return {
        name: value for name, value in values.items() if name.isidentifier() and not keyword.iskeyword(name)
    }


def is_package_code(code: CodeType) -> bool:
    """Whether a code object is cudasim's own."""
    return code.co_filename.startswith((_PACKAGE_FOLDER, OWN_CODE))


def name_in_debug_info(file: str) -> str:
    """The name of a source file in debug info: that of the package's own files says so."""
    return OWN_CODE + file[len(_PACKAGE_FOLDER) - 1 :] if file.startswith(_PACKAGE_FOLDER) else file


def _is_package_frame(traceback):
    return is_package_code(traceback.tb_frame.f_code)


def _shows_all():
    return False


def show_package_frames_where(asked_for: Callable[[], bool]) -> None:
    """:param asked_for: the value of the option full_traceback, which is a room further up"""
    global _shows_all
    _shows_all = asked_for


def without_package_frames(traceback: Any) -> Any:
    """The traceback without this package's frames, unless option full-traceback asks for all."""
    if _shows_all():
        return traceback
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    if entries and all(map(_is_package_frame, entries)):
        return None
    result = None
    for entry in reversed(entries):
        if not _is_package_frame(entry):
            result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


_shown_without_package_frames: weakref.WeakSet[BaseException] = weakref.WeakSet()


@lru_cache(maxsize=1)
def _clean_uncaught_exceptions():
    previous = sys.excepthook

    def hook(kind, value, traceback):
        if value in _shown_without_package_frames:
            with contextlib.suppress(ValueError):  # full_traceback itself may have a wrong value
                traceback = without_package_frames(traceback)
                value = value.with_traceback(traceback)
        previous(kind, value, traceback)

    sys.excepthook = hook


def without_package_frames_if_uncaught(exception: BaseException) -> BaseException:
    """The exception itself. If nobody handles it, `sys.excepthook` prints it without the package's frames: what first needed the
    value may be deep in the package."""
    _clean_uncaught_exceptions()
    _shown_without_package_frames.add(exception)
    return exception


def calling_frame() -> FrameType | None:
    """The innermost frame that is not cudasim's own: the user's code; None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return frame


def add_note(exception: BaseException, text: str) -> None:
    """BaseException.add_note(), before Python 3.11 too."""
    if sys.version_info >= (3, 11):
        exception.add_note(text)
    else:
        vars(exception).setdefault("__notes__", []).append(text)
