"""Tracebacks that end at the kernel's own lines (design rule C2).

A kernel runs as machine code and has no Python frames. For a finding, one function is made per entry of its
call chain, with the kernel's file name, function name and line; they call each other and the innermost one
raises. What pytest, editors and notebooks show is then a traceback like that of a plain Python function.
Frames of this package are cut out (cudasim._native.FramelessCall and `without_package_frames`).
"""

import os
import sys
import types

_PACKAGE_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _calls(function):
    function()


def _raises(exception):
    raise exception


def _lines_without_columns(code):
    """A line table that gives every instruction the function's first line and no column.

    From 3.11 a traceback underlines columns; those of our templates would point at nonsense. Entry kind 13 of
    the location table means "line only" (CPython, Objects/locations.md): one byte 1 1101 nnn for n+1 code
    units, then the line's change as a signed variable-length number.
    """
    units = len(code.co_code) // 2
    table = bytearray()
    while units > 0:
        chunk = min(units, 8)
        table += bytes((0x80 | (13 << 3) | (chunk - 1), 0))
        units -= chunk
    return bytes(table)


def _template(function):
    """The function's code, all of it on its first line."""
    if sys.version_info >= (3, 11):
        return function.__code__.replace(co_linetable=_lines_without_columns(function.__code__))
    # Until 3.10 the line table is pairs of (bytes of code, change of line); one pair per up to 254 bytes.
    table, length = bytearray(), len(function.__code__.co_code)
    while length > 0:
        table += bytes((min(length, 254), 0))
        length -= 254
    if sys.version_info >= (3, 10):
        return function.__code__.replace(co_linetable=bytes(table))
    return function.__code__.replace(co_lnotab=b"")


_CALLS = _template(_calls)
_RAISES = _template(_raises)


def _frame_function(template, place, module_globals, argument):
    replacements = {
        "co_filename": place.file,
        "co_name": place.function or "<kernel>",
        "co_firstlineno": max(place.line, 1),
    }
    if sys.version_info >= (3, 11):
        replacements["co_qualname"] = replacements["co_name"]
    function = types.FunctionType(template.replace(**replacements), module_globals)
    return lambda: function(argument)


def _kernel_frames(traceback, frames):
    """The last `frames` entries of the kernel's own, in order, without the lambdas between them."""
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
    return code.co_filename.startswith(_PACKAGE_FOLDER)


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
