"""list: the text of the program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.locations import Location, current_place, location_of
from cudasim.debugger_client.places import Listed, short_path
from cudasim.debugger_client.text import source_line

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


@command(
    "list",
    "l",
    usage="[LOCATION | FIRST,LAST | -]",
    group="source",
    repeats=True,
    completer=completion.locations,
)
def _list(debugger: Debugger, argument: str) -> None:
    """Show lines of source.

    Around LOCATION (LINE, FILE:LINE or FUNCTION), from FIRST to LAST, or around the current line. Again without an
    argument: the lines that follow; with -: those before. `set listsize` says how many.
    """
    size = debugger.settings["listsize"].value
    listed = debugger.listed
    if argument == "-":
        if listed is None:
            path, line = current_place(debugger)
            first, last = line - size - size // 2, line - size // 2 - 1
        else:
            path, first, last = listed.path, listed.first - size, listed.first - 1
        if last < 1:
            raise CommandError(f'The first line of "{short_path(path)}" has been listed already.')
        _show(debugger, path, max(first, 1), last)
    elif not argument:
        path, line = current_place(debugger)
        if listed is not None:
            first = listed.last + 1
            if first > len(debugger.sources.lines(path, _reference(debugger, path))):
                raise CommandError(f'"{short_path(path)}" has {first - 1} lines only.')
        else:
            first = max(line - size // 2, 1)
        _show(debugger, path, first, first + size - 1)
    elif "," in argument:
        begin, _, end = (part.strip() for part in argument.partition(","))
        start = _line_of(debugger, begin) if begin else None
        if end.startswith("+") and end[1:].isdigit() and start is not None:
            stop = start.line + int(end[1:])
        elif end:
            stop = int(end) if re.fullmatch(r"\d+", end) else _line_of(debugger, end).line
        else:
            stop = (start.line if start else 1) + size - 1
        start = start or Location(current_place(debugger)[0], max(stop - size + 1, 1))
        if stop < start.line:
            raise CommandError(f"Line {stop} is before line {start.line}.")
        _show(debugger, start.path, start.line, stop)
    else:
        location = _line_of(debugger, argument)
        first = max(location.line - size // 2, 1)
        _show(debugger, location.path, first, first + size - 1)


@command("longlist", "ll", usage="", group="source")
def _longlist(debugger: Debugger, argument: str) -> None:
    """Show the whole source of the selected function."""
    frame = debugger.session.frame()
    lines = debugger.sources.lines(frame.path, frame.source_reference)
    first = frame.line
    while first > 1 and not re.match(r"\s*(async\s+)?def\s", lines[first - 1] if first <= len(lines) else ""):
        first -= 1
    last, depth = frame.line, len(lines[first - 1]) - len(lines[first - 1].lstrip()) if lines else 0
    while last < len(lines) and (
        not lines[last].strip() or len(lines[last]) - len(lines[last].lstrip()) > depth
    ):
        last += 1
    while last > frame.line and not lines[last - 1].strip():
        last -= 1
    _show(debugger, frame.path, first, last)


def _line_of(debugger: Debugger, text: str) -> Location:
    location = location_of(debugger, text)
    if not location.function:
        return location
    path, _ = current_place(debugger)
    line = debugger.sources.definition(path, location.function) if path else None
    if line is None:
        raise CommandError(f'Function "{location.function}" is not defined in "{short_path(path)}".')
    return Location(path, line)


def _reference(debugger: Debugger, path: str) -> int:
    """The program's number of a source that is in no file, where a frame is in it."""
    frames = debugger.session.frames() if debugger.session.focus is not None else []
    return next((frame.source_reference for frame in frames if frame.path == path), 0)


def _show(debugger: Debugger, path: str, first: int, last: int) -> None:
    reference = _reference(debugger, path)
    lines = debugger.sources.lines(path, reference)
    if not lines:
        raise CommandError(
            f'The source of "{short_path(path)}" cannot be read.' if path else "There is no current file."
        )
    last = min(last, len(lines))
    if first > last:
        raise CommandError(f'"{short_path(path)}" has {len(lines)} lines only.')
    for number in range(first, last + 1):
        debugger.console.write(source_line(number, lines[number - 1]))
    debugger.listed = Listed(path, first, last, reference)
