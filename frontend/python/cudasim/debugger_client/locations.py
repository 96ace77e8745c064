"""Places in the source as they are typed: LINE, FILE:LINE, FUNCTION, FILE:FUNCTION, +N, -N."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import short_path
from cudasim.native_programs import is_program

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


#: geo::Vec3<float>::dot(int). One without :: < or ( may be a function of Python, too.
_CPP_FUNCTION = re.compile(r"(::)?~?[A-Za-z_]\w*(<.*>)?(::~?[A-Za-z_]\w*(<.*>)?)*(\(.*\))?")


@dataclasses.dataclass
class Location:
    """A line of a file, or a function of any file."""

    path: str = ""
    line: int = 0
    function: str = ""
    known: bool = True

    @property
    def text(self) -> str:
        """As it is told."""
        return self.function or f"{short_path(self.path)}:{self.line}"


def script_path(script: list[str]) -> str:
    """The file of [script, …] or ["-m", module, …]; empty where the module's file is not found without importing it."""
    if script[:1] != ["-m"]:
        return os.path.abspath(script[0]) if script else ""
    relative = os.path.join(*script[1].split("."))
    for folder in [os.getcwd(), *sys.path]:
        for candidate in (relative + ".py", os.path.join(relative, "__main__.py")):
            path = os.path.join(folder, candidate)
            if os.path.isfile(path):
                return os.path.abspath(path)
    return ""


def current_place(debugger: Debugger) -> tuple[str, int]:
    """(path, line) of the selected frame, else of what was listed last, else the script and 0: "" for an executable."""
    session = debugger.session
    if session.focus is not None and session.frames():
        frame = session.frame()
        return frame.path, frame.line
    if debugger.listed is not None:
        return debugger.listed.path, debugger.listed.last
    script = script_path(debugger.script)
    return "" if is_program(script) else script, 0


def find_file(debugger: Debugger, name: str) -> tuple[str, bool]:
    """(absolute path, whether there is such a file) of a file's name as it is typed."""
    path, _ = current_place(debugger)
    script = script_path(debugger.script)
    folders = [os.getcwd(), *(os.path.dirname(one) for one in (script, path) if one)]
    for folder in folders:
        candidate = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        if os.path.isfile(candidate):
            return candidate, True
    frames = debugger.session.frames() if debugger.session.focus is not None else []
    for known in [frame.path for frame in frames] + [path, script]:
        if known == name or known.endswith(os.sep + name):
            return known, True
    return os.path.normpath(os.path.join(os.getcwd(), name)), False


def location_of(debugger: Debugger, text: str) -> Location:
    """What a text says; an empty one is the current line.

    :raises CommandError: where it says nothing, or a file has no such line
    """
    text = text.strip()
    path, line = current_place(debugger)
    if not text or re.fullmatch(r"[+-]\d+", text):
        if not line:
            raise CommandError("There is no current line; name one, such as script.py:12.")
        return _line(debugger, path, line + int(text or 0), True)
    if text.isdigit():
        if not path:
            raise CommandError("There is no current file; write FILE:LINE.")
        return _line(debugger, path, int(text), True)
    if _CPP_FUNCTION.fullmatch(text) and re.search("::|[<(]", text):
        return Location(function=text, known=False)
    file, colon, rest = text.rpartition(":")
    if colon and file:
        path, exists = find_file(debugger, file)
        if rest.isdigit():
            return _line(debugger, path, int(rest), exists)
        if rest.isidentifier():
            number = debugger.sources.definition(path, rest)
            if number is None:
                raise CommandError(f'Function "{rest}" is not defined in "{short_path(path)}".')
            return Location(path, number)
    if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", text) and not re.fullmatch(r"\w+\.py", text):
        known = not path or debugger.sources.definition(path, text.rpartition(".")[2]) is not None
        return Location(function=text, known=known)
    raise CommandError(f'"{text}" is no location. Write LINE, FILE:LINE or FUNCTION.')


def _line(debugger: Debugger, path: str, line: int, exists: bool) -> Location:
    lines = debugger.sources.lines(path)
    if line < 1 or (lines and line > len(lines)):
        raise CommandError(f'No line {line} in file "{short_path(path)}".')
    return Location(path, line, known=exists)
