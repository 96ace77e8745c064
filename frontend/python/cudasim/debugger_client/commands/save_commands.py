"""save: what the debugger was told, as a file of commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion
from cudasim.debugger_client.commands.table import Table, command
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from cudasim.debugger_client.breakpoints import Breakpoint
    from cudasim.debugger_client.debugger import Debugger

SAVE = Table("save ")


@command("save", usage="breakpoints FILE", group="breakpoints", sub_table=SAVE)
def _save(debugger: Debugger, argument: str) -> None:
    """Write the breakpoints into a file, which source reads again."""
    SAVE.dispatch(debugger, argument)


@SAVE.command("breakpoints", "b", usage="FILE", completer=completion.files)
def _breakpoints(debugger: Debugger, argument: str) -> None:
    """The breakpoints as commands, with their conditions and commands, so that `source FILE` sets them again.

    Watchpoints, which need a kernel that is stopped, and calls of breakpoint() are left out.
    """
    if not argument:
        raise CommandError("The name of a file is missing: save breakpoints FILE.")
    every = debugger.breakpoints.visible()
    kept = [one for one in every if not one.expression and not one.is_call]
    if not kept:
        raise CommandError("There is no breakpoint to be saved.")
    path = os.path.expanduser(argument)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for one in kept for line in _commands_for(one))
    debugger.console.write(f"Saved to file '{path}'.")
    left_out = [str(one.number) for one in every if one not in kept]
    if left_out:
        debugger.console.write(f"Left out: {', '.join(left_out)}, which a file cannot set.")


def _commands_for(one: Breakpoint) -> list[str]:
    """What sets a breakpoint again."""
    place = one.function or f"{one.path}:{one.line}"
    parts = [f"thread {one.threads}"] if one.threads else []
    parts += [f"block {one.blocks}"] if one.blocks else []
    parts += [f"if {one.condition}"] if one.condition else []
    words = " ".join([place, *parts])
    if one.message is not None:
        lines = [f'dprintf {words},"{_quoted(one.message)}"']
    else:
        lines = [f"{'tbreak' if one.temporary else 'break'} {words}"]
    if one.ignore:
        lines.append(f"ignore $bpnum {one.ignore}")
    if one.commands:
        lines += ["commands", *("  " + line for line in one.commands), "end"]
    if not one.enabled:
        lines.append("disable $bpnum")
    elif one.once:
        lines.append("enable once $bpnum")
    return lines


def _quoted(text: str) -> str:
    for mark, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(mark, written)
    return text
