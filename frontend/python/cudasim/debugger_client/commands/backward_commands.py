"""Going back: the launch is returned to an earlier point and runs again up to the statement that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client import completion
from cudasim.debugger_client.commands.running_commands import repeat
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.commands.watch_commands import watched_place
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import Stop, coordinates, short_path

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


@command("reverse-step", "rs", usage="[N]", group="running", repeats=True)
def _reverse_step(debugger: Debugger, argument: str) -> None:
    """Go back to the line before, into functions that were called.

    With a number N, that many times. Only the thread in focus is meant. Memory, variables and all other threads are as they
    were then. What the program printed is not printed again.
    """
    repeat(debugger, "stepBack", argument, {"cudasim": {"kind": "in"}}, note_ends=True)


@command("reverse-next", "rn", usage="[N]", group="running", repeats=True)
def _reverse_next(debugger: Debugger, argument: str) -> None:
    """Go back to the line before in this function, or to the call of this function.

    With a number N, that many times.
    """
    repeat(debugger, "stepBack", argument, {"cudasim": {"kind": "over"}}, note_ends=True)


@command("reverse-finish", usage="", group="running")
def _reverse_finish(debugger: Debugger, argument: str) -> None:
    """Go back to the line that called this function."""
    debugger.resume("stepBack", cudasim={"kind": "out"})


@command("reverse-continue", "rc", usage="", group="running", repeats=True)
def _reverse_continue(debugger: Debugger, argument: str) -> None:
    """Go back to where a breakpoint would have stopped a thread last.

    Where there is no such place the launch is stopped at its first statement.
    """
    debugger.console.write("Continuing backwards.")
    debugger.resume("reverseContinue")


#: So many writes are shown where no number is given.
_SHOWN = 10


@command("writes", usage="EXPRESSION [N]", group="running", completer=completion.expressions)
def _writes(debugger: Debugger, argument: str) -> None:
    """List who wrote an element, newest first.

    EXPRESSION is an element x[17], a slice, an array or an address in global or shared memory. The launch runs again from its beginning and
    comes to where it is now. N lines are shown, else 10, at most 100.
    """
    expression, _, number = argument.rpartition(" ")
    if not (expression.strip() and number.isdigit()):
        expression, number = argument, str(_SHOWN)
    if not expression.strip():
        raise CommandError("An element is missing: writes x[17].")
    debugger.session.thread()
    info = watched_place(debugger, expression.strip(), "It is not known who wrote")
    outcome = debugger.resume_silently("cudasim/writes", dataId=info["dataId"])
    if not isinstance(outcome, Stop):
        debugger.report(outcome)
        return
    shown = outcome.writes[: int(number)]
    for write in shown:
        who = f"block{coordinates(write['block'])} thread{coordinates(write['thread'])}"
        value = f"{write.get('old')} -> {write.get('new')}" if write.get("changed") else str(write.get("new"))
        where = f"{short_path(write['file'])}:{write['line']}" if "file" in write else "?"
        debugger.console.write(f"{write.get('element') or expression.strip()}: {value}, {who} at {where}")
    left = outcome.writes_in_all - len(shown)
    if not outcome.writes:
        debugger.console.write(f"Nobody has written {expression.strip()} in this launch.")
    elif left:
        debugger.console.write(f"({left} earlier {'write' if left == 1 else 'writes'})")
