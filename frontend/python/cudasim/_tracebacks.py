"""Tracebacks that end at the kernel's own lines (design rule C2).

A kernel runs as machine code and has no Python frames. For a finding, one function is made per entry of its
call chain, with the kernel's file name, function name and line; they call each other and the innermost one
raises. What pytest, editors and notebooks show is then a traceback like that of a plain Python function.
Frames of this package are cut out (cudasim._native.FramelessCall and `without_package_frames`).
"""

import linecache
import os
import re
import sys
import types
import warnings

_PACKAGE_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: How the file names of the package's own device code begin, in debug info (findings::own_code) and of kernels that are
#: made as text.
OWN_CODE = "<cudasim>"


def _templates(step=None):
    def calls():
        step()

    def raises():
        raise step

    return calls.__code__, raises.__code__


def _on_line(code, line):
    """The code with every instruction on this line, and without columns."""
    first, length = code.co_firstlineno, len(code.co_code)
    if sys.version_info >= (3, 11):
        return code.replace(co_linetable=_location_table(line - first, length // 2))
    # Until 3.10 the line table is pairs of (bytes of code, change of line); one pair per up to 254 bytes.
    table = bytearray()
    while length > 0:
        table += bytes((min(length, 254), 0))
        length -= 254
    if sys.version_info >= (3, 10):
        return code.replace(co_firstlineno=line, co_linetable=bytes(table))
    return code.replace(co_firstlineno=line, co_lnotab=b"")


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


_CALLS, _RAISES = _templates()


def _first_line(place):
    """Where the function of a place begins, as far as its text tells: notebooks show it from there on."""
    line, lines = max(place.line, 1), linecache.getlines(place.file)
    name = re.escape(place.function.rpartition(".")[2])
    begins = re.compile(r".*\blambda\b" if place.function == "<lambda>" else rf"\s*def\s+{name}\b")
    for number in range(min(line, len(lines)), 0, -1):
        if begins.match(lines[number - 1]):
            return number
    return line


def _frame_function(template, place, module_globals, argument):
    first = _first_line(place)
    replacements = {
        "co_filename": place.file,
        "co_name": place.function or "<kernel>",
        "co_firstlineno": first,
    }
    if sys.version_info >= (3, 11):
        replacements["co_qualname"] = replacements["co_name"]
    code = _on_line(template.replace(**replacements), max(place.line, 1))
    return types.FunctionType(code, module_globals, None, None, (types.CellType(argument),))


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


def at_kernel_lines(exception, chain, module_globals):
    """Gives the exception a traceback whose frames are the chain's places, kernel first, and returns it.

    :param chain: innermost place first, as Finding.location has it
    :param module_globals: the kernel's `__globals__`: loaders and source look-ups go through them
    """
    if not chain:
        return exception.with_traceback(None)
    # Frames need no more of the globals than what finds their source; values would keep arrays alive.
    names = {
        name: module_globals[name]
        for name in ("__name__", "__loader__", "__file__", "__spec__")
        if name in module_globals
    }
    step = _frame_function(_RAISES, chain[0], names, exception)
    for place in chain[1:]:
        step = _frame_function(_CALLS, place, names, step)
    try:
        step()
    except BaseException as raised:  # noqa: B902 - the exception we were given, whatever it is
        return exception.with_traceback(_kernel_frames(raised.__traceback__, len(chain)))
    raise AssertionError("the innermost frame raises")


def is_package_code(code):
    """Whether a code object is cudasim's own."""
    return code.co_filename.startswith((_PACKAGE_FOLDER, OWN_CODE))


def name_in_debug_info(file):
    """The name of a source file in debug info: that of the package's own files says so."""
    return OWN_CODE + file[len(_PACKAGE_FOLDER) - 1 :] if file.startswith(_PACKAGE_FOLDER) else file


def _is_package_frame(traceback):
    return is_package_code(traceback.tb_frame.f_code)


def without_package_frames(traceback):
    """The traceback without this package's frames, unless option full-traceback asks for all."""
    from cudasim import options

    if options.get("full_traceback"):
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


def warn_at(message, category, file, line, names):
    """A warning at a line of the module whose globals these are. One without a name gets its file's, as in Python's own
    warnings: without any they would be dropped."""
    module = names.get("__name__") or os.path.splitext(file)[0]
    warnings.warn_explicit(message, category, file, line, module, names.setdefault("__warningregistry__", {}))


def warn_at_users_line(message, category):
    """Warns at the innermost line of code that is not cudasim's own: the launch or the call."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_package_code(frame.f_code):
        frame = frame.f_back
    warn_at(category(message), category, frame.f_code.co_filename, frame.f_lineno, frame.f_globals)


def calling_frame():
    """The innermost frame that is not cudasim's own: the user's code; None where there is none."""
    frame, package = sys._getframe(1), __name__.partition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return frame
