"""tui: the full-screen view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client.commands.table import Table, command
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger
    from cudasim.debugger_client.tui.screen import Screen

TUI = Table("tui ")
LAYOUT = Table("layout ")


@command("tui", usage="[enable | disable]", group="support", sub_table=TUI)
def _tui(debugger: Debugger, argument: str) -> None:
    """Fill the screen with source, variables, threads and output, or go back to the plain prompt.

    All commands are typed in the line at the bottom, and Enter on an empty line repeats the last step. While the program
    runs, what is typed is the program's input, if it was started from this view. Keys:

    F5          run, or continue
    F10 F11 F12 next, step, finish
    F9          set or remove a breakpoint at the source's cursor; a click in front of a line does it, too
    Ctrl-C      pause the launch that runs; while a command is typed, give it up
    Ctrl-D      the end of input
    Up, Down    older and newer commands; Tab completes, and again: the next word
    PageUp, PageDown            scroll the source, with Ctrl or Shift the output
    F6, Ctrl-X o                the next pane gets the keys; Escape, or a colon: back to the command line
    Ctrl-X a    back to the plain prompt, as `tui disable`
    Ctrl-L      draw the screen again; Ctrl-Z suspends the debugger; Ctrl-\\ ends a program that does not listen

    In the source: arrows or j and k move the cursor, b sets or removes a breakpoint, n s f c r u d are next, step, finish,
    continue, run, up and down. In the threads: Enter brings the first thread of a group into focus. In the variables:
    Enter opens and closes what has parts. In all: the mouse's wheel scrolls, Shift makes it the terminal's own.
    """
    if argument:
        TUI.dispatch(debugger, argument)
        return
    screen = _screen(debugger)
    if screen.is_on:
        screen.disable()
    else:
        screen.enable()


@TUI.command("enable")
def _enable(debugger: Debugger, argument: str) -> None:
    """Fill the screen."""
    _screen(debugger).enable()


@TUI.command("disable")
def _disable(debugger: Debugger, argument: str) -> None:
    """Go back to the plain prompt."""
    _screen(debugger).disable()


@command("layout", usage="src", group="support", sub_table=LAYOUT)
def _layout(debugger: Debugger, argument: str) -> None:
    """Fill the screen, as `tui enable`. There is one layout, src, which has all that can be shown."""
    LAYOUT.dispatch(debugger, argument)


@LAYOUT.command("src")
def _src(debugger: Debugger, argument: str) -> None:
    """Source, variables, threads and output."""
    _screen(debugger).enable()


def _screen(debugger: Debugger) -> Screen:
    if debugger.screen is None:
        raise CommandError("The full-screen view needs a terminal for input and output.")
    return debugger.screen
