"""Starting the program and moving its threads."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion, variables
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.locations import location_of
from cudasim.debugger_client.places import Stop
from cudasim.debugger_client.text import frame_line

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger
    from cudasim.debugger_client.places import Ended


def _arguments(debugger: Debugger, argument: str) -> list[str]:
    """The program's arguments; new ones are kept for the next run."""
    if argument:
        debugger.settings["args"].value = argument
    try:
        return shlex.split(debugger.settings["args"].value)
    except ValueError as error:
        raise CommandError(f"The arguments cannot be split into words: {error}.") from None


def _may_start(debugger: Debugger) -> bool:
    if not debugger.is_running:
        return True
    question = "The program is running already. Start it from the beginning?"
    if not debugger.console.agrees(question):
        return False
    debugger.kill()
    return True


@command("run", "r", usage="[ARGUMENTS]", group="running", completer=completion.files)
def _run(debugger: Debugger, argument: str) -> None:
    """Start the program.

    ARGUMENTS are those of the script; without any it gets those of the last run, or those that stood on the command line.
    A program that runs already is started again from the beginning. Breakpoints stay.
    """
    arguments = _arguments(debugger, argument)
    if _may_start(debugger):
        debugger.start_program(arguments)


@command("start", usage="[ARGUMENTS]", group="running", completer=completion.files)
def _start(debugger: Debugger, argument: str) -> None:
    """Start the program and stop at the entry of its first kernel.

    ARGUMENTS are as for run.
    """
    arguments = _arguments(debugger, argument)
    if _may_start(debugger):
        debugger.stop_at_launches(temporary=True)
        try:
            debugger.start_program(arguments)
        finally:
            temporary = [one for one in debugger.internal_breakpoints() if one.temporary]
            debugger.send_breakpoints(debugger.breakpoints.remove([one.number for one in temporary]))


@command("continue", "c", "cont", "fg", usage="[N]", group="running", repeats=True)
def _continue(debugger: Debugger, argument: str) -> None:
    """Let the program run on.

    With a number N the breakpoint that the program stopped at is passed N - 1 times more before it stops again. With
    `set lock on` only the thread in focus goes on, until it stops, ends or must wait.
    """
    program = debugger.session.program
    if program is not None and program.is_attached and debugger.session.stop is None:
        debugger.console.write("Continuing.")
        debugger.wait()
        return
    debugger.session.thread()
    if argument:
        count = _count(argument)
        stop = debugger.session.stop
        hit = [one for one in map(debugger.breakpoints.get, stop.hit_ids if stop else []) if one is not None]
        if not hit:
            raise CommandError("The program did not stop at a breakpoint, so there is none to pass.")
        if count > 1 and hit[0].is_call:
            raise CommandError("The program stopped at a call of breakpoint(), which stops always.")
        if count > 1:
            hit[0].ignore = count - 1
            debugger.send_breakpoints({hit[0].key})
            times = "crossing" if count == 2 else f"{count - 1} crossings"
            debugger.console.write(f"Will ignore the next {times} of breakpoint {hit[0].number}.")
    debugger.console.write("Continuing.")
    debugger.resume("continue")


def _count(argument: str) -> int:
    if not argument:
        return 1
    if not argument.isdigit() or int(argument) < 1:
        raise CommandError(f'"{argument}" is no number of times.')
    return int(argument)


def _unit(debugger: Debugger) -> dict[str, Any]:
    return {"cudasim": {"unit": debugger.settings["step"].value}}


def repeat(
    debugger: Debugger, request: str, argument: str, arguments: dict[str, Any], note_ends: bool = False
) -> None:
    """Steps by a request as often as the command's argument says, or until something else stops the program.

    :param note_ends: a note says that the step was the last one possible
    """
    outcome: Stop | Ended | None = None
    for _ in range(_count(argument)):
        outcome = debugger.resume_silently(request, **arguments)
        if not isinstance(outcome, Stop) or outcome.reason != "step" or outcome.waits:
            break
        if note_ends and outcome.notes:
            break
    if outcome is not None:
        debugger.report(outcome)


@command("step", "s", usage="[N]", group="running", repeats=True)
def _step(debugger: Debugger, argument: str) -> None:
    """Go on to the next line, into functions that are called.

    With a number N, that many times. Only the thread in focus moves; others move where it has to wait for them, as at a
    barrier, unless `set lock on` forbids it. `set step warp`, block or grid moves more threads at once. A thread that has not
    started does so, also one of a block whose turn has not come.
    """
    repeat(debugger, "stepIn", argument, _unit(debugger))


@command("next", "n", usage="[N]", group="running", repeats=True)
def _next(debugger: Debugger, argument: str) -> None:
    """Go on to the next line of this function.

    With a number N, that many times. Like step, but functions that are called run to their end.
    """
    repeat(debugger, "next", argument, _unit(debugger))


@command("finish", "fin", "return", usage="", group="running", repeats=True)
def _finish(debugger: Debugger, argument: str) -> None:
    """Run until the selected function returns, and show the value that it returned.

    The value gets a number, as print's have: $1.
    """
    frames = debugger.session.frames()
    frame = debugger.session.frame()
    index = frames.index(frame)
    debugger.console.write(
        "Run till exit from " + frame_line(index, frame, variables.arguments(debugger, frame))
    )
    arguments = _unit(debugger)
    if index:
        arguments = {**arguments, "cudasim": {**arguments.get("cudasim", {}), "levels": index}}
    debugger.resume("stepOut", **arguments)


@command(
    "until", "u", "unt", usage="[LOCATION]", group="running", repeats=True, completer=completion.locations
)
def _until(debugger: Debugger, argument: str) -> None:
    """Run until a line after the current one, or LOCATION, is reached.

    It also stops where the current function returns. Without LOCATION it leaves loops: it does not stop at a line that it
    has come back to.
    """
    arguments: dict[str, Any] = {}
    if argument:
        location = location_of(debugger, argument)
        if location.function:
            raise CommandError("until needs a line; advance takes functions, too.")
        arguments = {"line": location.line, "file": location.path}
    debugger.resume("cudasim/until", **arguments)


@command("advance", usage="LOCATION", group="running", completer=completion.locations)
def _advance(debugger: Debugger, argument: str) -> None:
    """Run until the thread in focus reaches LOCATION: a line or a function.

    Only that thread moves, and others where it has to wait for them. Its other breakpoints stop it.
    """
    if not argument:
        raise CommandError("A location is missing: LINE, FILE:LINE or FUNCTION.")
    location, focus = location_of(debugger, argument), debugger.session.thread()
    added = debugger.breakpoints.add(
        internal=True, path=location.path, line=location.line, function=location.function, temporary=True,
        threads="(" + ",".join(map(str, focus.thread)) + ")", blocks="(" + ",".join(map(str, focus.block)) + ")",
    )  # fmt: skip
    try:
        debugger.send_breakpoints({added.key})
        outcome = debugger.resume_silently("continue", cudasim={"unit": "thread"})
        if isinstance(outcome, Stop) and outcome.hit_ids == [added.number]:
            outcome.reason, outcome.hit_ids = "step", []
    finally:
        debugger.send_breakpoints(debugger.breakpoints.remove([added.number]))
    debugger.report(outcome)


@command("barrier", usage="", group="running", repeats=True)
def _barrier(debugger: Debugger, argument: str) -> None:
    """Run until the thread in focus waits at its next barrier or warp operation."""
    debugger.resume("cudasim/barrier")


@command("attach", usage="PROCESS", group="running")
def _attach(debugger: Debugger, argument: str) -> None:
    """Debug a process that waits for debuggers, which it does with CUDASIM_DEBUGGER=listen.

    A kernel that runs stops. Where none runs, breakpoints can be set, and continue waits for the next one.
    """
    if not argument.isdigit():
        raise CommandError("The number of a process is missing: attach PROCESS.")
    if debugger.is_running:
        raise CommandError("A program is being debugged; detach or kill it first.")
    debugger.attach(int(argument))


@command("detach", usage="", group="running")
def _detach(debugger: Debugger, argument: str) -> None:
    """Let the program go on without the debugger.

    Its breakpoints are forgotten there; this debugger keeps them. A program that the debugger has started runs to its end.
    """
    debugger.detach()


@command("kill", "k", usage="", group="running")
def _kill(debugger: Debugger, argument: str) -> None:
    """End the program by force."""
    if not debugger.is_running:
        raise CommandError("The program is not being run.")
    if debugger.console.agrees("Kill the program?"):
        debugger.kill()
        debugger.previous_focus = None
        debugger.console.write("[The program was killed]")
