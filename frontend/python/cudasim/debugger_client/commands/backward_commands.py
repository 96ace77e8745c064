"""Going back: the launch is returned to an earlier point and runs again up to the statement that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client.commands.running_commands import repeat
from cudasim.debugger_client.commands.table import command

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


@command("reverse-step", "rs", usage="[N]", group="running", repeats=True)
def _reverse_step(debugger: Debugger, argument: str) -> None:
    """Go back to the line before, into functions that were called.

    With a number N, that many times. Only the thread in focus is meant. Memory, variables and all other threads are as they
    were then. What the program printed is not printed again.
    """
    repeat(debugger, "stepBack", argument, {"cudasim": {"kind": "in"}})


@command("reverse-next", "rn", usage="[N]", group="running", repeats=True)
def _reverse_next(debugger: Debugger, argument: str) -> None:
    """Go back to the line before in this function, or to the call of this function.

    With a number N, that many times.
    """
    repeat(debugger, "stepBack", argument, {"cudasim": {"kind": "over"}})


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
