"""The lines of the file that a function is in, or of the program that has no file: `python -c`, a redirected standard
input, the text of exec() and eval(), notebook cells under %%time.

Python does not keep the text of such programs. It is looked for where it may still be, and believed when it compiles
to the very code of the function: same instructions, names, constants, lines and columns.
"""

from __future__ import annotations
import __future__

import contextlib
import functools
import io
import itertools
import linecache
import os
import stat
import sys
import textwrap
import threading
import types
from typing import TYPE_CHECKING

from cudasim import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType, FrameType
    from typing import Any

#: Longer texts are not tried, nor more texts, nor longer containers of them than that.
_MOST_CHARACTERS, _MOST_TEXTS, _MOST_ELEMENTS = 1 << 20, 100, 1000
#: Their attributes are not looked at.
_NO_HOLDERS = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag


#: `python -c`, `python < file` and every exec() share these; from CPython 3.13 on
#: linecache knows the first of them.
_SHARED_NAMES = ("<string>", "<stdin>")


def codes_in(code: CodeType) -> Iterator[Any]:
    """A code object and all inside it.

    The function that holds annotations from CPython 3.14 on is left out, because nothing in a kernel calls it
    (PEP 649).
    """
    left = [code]
    while left:
        code = left.pop()
        yield code
        left += [
            constant
            for constant in reversed(code.co_consts)
            if isinstance(constant, type(code)) and constant.co_name != "__annotate__"
        ]


#: The attribute of a function that holds (its code, the lines of its file).
_LINES = "__cudasim_lines__"


def remember_lines(function: Callable[..., Any], texts: Iterable[str] = ()) -> None:
    """Keeps the lines for lines_of(): the file may change before the function is compiled, and what has no file is held
    by callers that return.

    :param texts: those that the function may come from, beside those of callers
    """
    vars(function)[_LINES] = (function.__code__, _lines(function, texts))


class _Noted(threading.local):
    """What exec(), eval() and compile() are given on this thread, where that is wanted."""

    texts: list[str] | None = None


_noted = _Noted()


@functools.cache
def _watch_compiling():
    """Once: hooks cannot be taken away. Functions for profilers would not do, for launches suspend tracing."""

    def note(event, given):
        if event == "compile" and _noted.texts is not None:
            source = given[0]
            if isinstance(source, (str, bytes)) and len(_noted.texts) < _MOST_TEXTS:
                _noted.texts.append(source if isinstance(source, str) else source.decode(errors="replace"))

    sys.addaudithook(note)


@contextlib.contextmanager
def noting_texts() -> Iterator[list[str]]:
    """A list that gets the texts which are given to exec(), eval() and compile() inside."""
    _watch_compiling()
    outer, _noted.texts = _noted.texts, []
    try:
        yield _noted.texts
    finally:
        _noted.texts = outer


def lines_of(function: Callable[..., Any]) -> list[str]:
    """All lines of the function's file or program; none when they are not known."""
    # Decorators copy attributes to other functions; the code says whose they are.
    code, lines = getattr(function, _LINES, (None, ()))
    return lines if code is function.__code__ and lines else _lines(function)


def _lines(function, texts=()):
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if lines and code.co_filename in _SHARED_NAMES and not _makes("".join(lines), code):
        lines = []
    return lines or _find(code, texts)


def _find(code, texts):
    word = "lambda" if code.co_name == "<lambda>" else code.co_name
    seen = set()
    for text in itertools.chain(texts, _texts(code.co_filename)):
        if text in seen or word not in text or len(text) > _MOST_CHARACTERS:
            continue
        seen.add(text)
        if _makes(text, code):
            return text.splitlines(keepends=True)
        if len(seen) == _MOST_TEXTS:
            break
    return []


def _makes(text, code):
    try:
        program = _native.call_on_large_stack(
            compile, text, code.co_filename, "exec", code.co_flags & _FUTURES, True
        )
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return code in codes_in(program)


def _texts(filename):
    if filename == "<string>":
        for argument in getattr(sys, "orig_argv", ())[1:]:
            yield from _as_written(argument)  # from 3.14 on `-c` takes indentation away
    elif filename == "<stdin>":
        yield from _standard_input()
    elif filename == "<timed exec>" and "IPython" in sys.modules:
        yield from _timed_cells()
    yield from _texts_of_callers()


def _standard_input():
    """The program that `python < file` reads."""
    try:
        if stat.S_ISREG(os.fstat(0).st_mode):
            yield os.pread(0, _MOST_CHARACTERS, 0).decode()
    except (OSError, UnicodeDecodeError):
        pass


def _timed_cells():
    shell = sys.modules["IPython"].get_ipython()
    for cell in reversed(shell.history_manager.input_hist_raw if shell else ()):
        if cell.lstrip().startswith("%%time"):
            yield shell.transform_cell(cell.partition("\n")[2])


def _texts_of_callers():
    """Texts that the calling functions hold: what they give to exec() is often one of them."""
    frame: FrameType | None = sys._getframe(1)
    # Dictionaries by id. They are kept because f_locals makes a new object each time from CPython 3.13 on.
    known: dict[int, Any] = {}
    while frame is not None:
        for names in (frame.f_locals, frame.f_globals):
            if id(names) not in known:
                known[id(names)] = names
                for value in list(names.values()):
                    yield from _texts_in(value)
        for value in frame.f_code.co_consts:
            yield from _as_written(value)
        frame = frame.f_back


def _texts_in(value):
    """A string, those in a container or in an object's attributes, the lines of a list put together, a stream's text."""
    yield from _as_written(value)
    if isinstance(value, io.StringIO):
        yield from () if value.closed else _as_written(value.getvalue())
        return
    inside = value
    if isinstance(value, dict):
        inside = list(value.values())
    elif not isinstance(value, (list, tuple)):
        if isinstance(value, _NO_HOLDERS):
            return
        try:
            inside = list(object.__getattribute__(value, "__dict__").values())
        except AttributeError:
            return
    if len(inside) > _MOST_ELEMENTS:
        return
    for element in inside:
        yield from _as_written(element)
        yield from _joined(element)
    yield from _joined(value)


def _joined(lines):
    if (
        isinstance(lines, (list, tuple))
        and 0 < len(lines) <= _MOST_ELEMENTS
        and all(type(line) is str for line in lines)
    ):
        yield "\n".join(lines)
        yield "".join(lines)


def _as_written(value):
    """A text, and the same without the indentation and the empty lines that it may have lost on its way to exec()."""
    if type(value) is not str:
        return
    yield value
    if value[:1].isspace():
        plain = textwrap.dedent(value)
        yield plain
        yield plain.lstrip("\n")
        yield value.strip()
