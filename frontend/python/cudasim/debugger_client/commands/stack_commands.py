"""The stack of the thread in focus."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import variables
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.text import frame_line, source_line

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


def show_frame(debugger: Debugger) -> None:
    """The selected frame and its source line."""
    frame = debugger.session.frame()
    index = debugger.session.frames().index(frame)
    debugger.console.write(frame_line(index, frame, variables.arguments(debugger, frame)))
    line = debugger.sources.line(frame.path, frame.line, frame.source_reference)
    if line is not None:
        debugger.console.write(source_line(frame.line, line))


@command("backtrace", "bt", "where", "w", usage="[full] [N|-N]", group="stack")
def _backtrace(debugger: Debugger, argument: str) -> None:
    """Show the functions that the thread in focus is in, innermost first.

    With N only the N innermost, with -N the N outermost. `full` shows the local variables of each, too.
    """
    words = argument.split()
    full = "full" in words or "-full" in words
    words = [word for word in words if word not in ("full", "-full")]
    if len(words) > 1 or (words and not re.fullmatch(r"-?\d+", words[0])):
        raise CommandError(f'"{argument}" is no number of frames.')
    debugger.session.frame()
    frames = list(enumerate(debugger.session.frames()))
    limit = int(words[0]) if words else 0
    shown = frames[:limit] if limit > 0 else frames[limit:] if limit < 0 else frames
    for index, frame in shown:
        debugger.console.write(frame_line(index, frame, variables.arguments(debugger, frame)))
        if full:
            for name, value in variables.of_scope(debugger, frame, "Locals"):
                debugger.console.write(f"        {name} = {value}")
    if 0 < limit < len(frames):
        debugger.console.write("(More stack frames follow...)")


def _select(debugger: Debugger, index: int) -> None:
    debugger.session.frame_index = index
    debugger.position_changed()
    show_frame(debugger)


@command("frame", "f", usage="[N]", group="stack")
def _frame(debugger: Debugger, argument: str) -> None:
    """Select the function number N of the stack, and show it; 0 is the innermost.

    print, info locals and list are about the selected function.
    """
    debugger.session.frame()
    if argument:
        if not argument.isdigit() or int(argument) >= len(debugger.session.frames()):
            raise CommandError(f"No frame {argument}.")
        debugger.session.frame_index = int(argument)
        debugger.position_changed()
    show_frame(debugger)


def _distance(argument: str) -> int:
    if argument and not re.fullmatch(r"-?\d+", argument):
        raise CommandError(f'"{argument}" is no number of frames.')
    return int(argument or 1)


def _move(debugger: Debugger, distance: int) -> None:
    debugger.session.frame()
    last = len(debugger.session.frames()) - 1
    at = debugger.session.frame_index
    wanted = min(max(at + distance, 0), last)
    if wanted == at:
        limit = "This is the outermost frame." if distance > 0 else "This is the innermost frame."
        raise CommandError(limit)
    _select(debugger, wanted)


@command("up", usage="[N]", group="stack", repeats=True)
def _up(debugger: Debugger, argument: str) -> None:
    """Select the function that called the selected one, or N callers up."""
    _move(debugger, _distance(argument))


@command("down", "dow", usage="[N]", group="stack", repeats=True)
def _down(debugger: Debugger, argument: str) -> None:
    """Select the function that the selected one called, or N calls down."""
    _move(debugger, -_distance(argument))
