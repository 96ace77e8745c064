"""info: what the debugger knows."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import text, variables
from cudasim.debugger_client.commands.table import Table, command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.locations import current_place, location_of, script_path
from cudasim.debugger_client.places import coordinates, short_path

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.breakpoints import Breakpoint
    from cudasim.debugger_client.debugger import Debugger

#: In front of a function's first statement: decorators and the lines of `def`.
_MOST_LINES_OF_A_HEAD = 20

INFO = Table("info ")


@command("info", "i", usage="SUBJECT", group="data", sub_table=INFO)
def _info(debugger: Debugger, argument: str) -> None:
    """Show what the debugger knows: `help info` lists the subjects."""
    INFO.dispatch(debugger, argument)


@INFO.command("breakpoints", "b", "br")
def _breakpoints(debugger: Debugger, argument: str) -> None:
    """The breakpoints: number, kind, whether they are enabled, place, conditions, how often they stopped the program."""
    every = debugger.breakpoints.visible()
    if not every:
        debugger.console.write("No breakpoints.")
        return
    _tell_breakpoints(debugger, every)


@INFO.command("watchpoints")
def _watchpoints(debugger: Debugger, argument: str) -> None:
    """The watchpoints, as `info breakpoints` shows them."""
    every = debugger.breakpoints.watches()
    if not every:
        debugger.console.write("No watchpoints.")
        return
    _tell_breakpoints(debugger, every)


def _tell_breakpoints(debugger: Debugger, every: list[Breakpoint]) -> None:
    rows = []
    for one in every:
        kept = "del" if one.temporary else "dis" if one.once else "keep"
        rows.append([one.number, one.kind, kept, "y" if one.enabled else "n", _what(debugger, one)])
    lines = text.table(["Num", "Type", "Disp", "Enb", "What"], rows)
    debugger.console.write(lines[0])
    for line, one in zip(lines[1:], every):
        debugger.console.write(line)
        for detail in _details(one):
            debugger.console.write("        " + detail)


def _what(debugger: Debugger, one: Breakpoint) -> str:
    pending = debugger.is_running and not one.verified and one.enabled
    return one.place + (f" ({one.problem})" if one.problem else " (pending)" if pending else "")


def _details(one: Breakpoint) -> list[str]:
    details = []
    if one.threads or one.blocks:
        parts = [f"thread {one.threads}"] if one.threads else []
        parts += [f"block {one.blocks}"] if one.blocks else []
        details.append("only " + " ".join(parts))
    if one.condition:
        details.append(f"stop only if {one.condition}")
    if one.hits:
        details.append(f"breakpoint already hit {one.hits} time{'s' if one.hits > 1 else ''}")
    if one.ignore:
        details.append(f"ignore next {one.ignore} hits")
    if one.message is not None:
        details.append(f'dprintf "{one.message}"')
    return details + one.commands


@INFO.command("locals", "lo")
def _locals(debugger: Debugger, argument: str) -> None:
    """The local variables of the selected function."""
    _scope(debugger, variables.LOCALS, "No locals.")


@INFO.command("args", "ar")
def _args(debugger: Debugger, argument: str) -> None:
    """The arguments of the selected function."""
    _scope(debugger, variables.ARGUMENTS, "No arguments.")


@command("args", "a", usage="", group="stack")
def _args_of_function(debugger: Debugger, argument: str) -> None:
    """Show the arguments of the selected function, as info args does."""
    _args(debugger, argument)


@INFO.command("registers", "r")
def _registers(debugger: Debugger, argument: str) -> None:
    """The special registers of the thread in focus: threadIdx, blockIdx and so on; only those that are named, if any."""
    found = variables.of_scope(debugger, debugger.session.frame(), variables.REGISTERS)
    names = argument.replace("$", "").split()
    for name in names:
        if name not in dict(found):
            raise CommandError(f'Invalid register "{name}".')
    chosen = [(name, value) for name, value in found if not names or name in names]
    width = max((len(name) for name, _ in chosen), default=0)
    for name, value in chosen:
        debugger.console.write(f"{name:<{width}}  {value}")


@INFO.command("shared")
def _shared(debugger: Debugger, argument: str) -> None:
    """The arrays in shared memory of the focus's block."""
    _scope(debugger, variables.SHARED, "No shared memory.")


def _scope(debugger: Debugger, scope: str, nothing: str) -> None:
    found = variables.of_scope(debugger, debugger.session.frame(), scope)
    for name, value in found:
        debugger.console.write(f"{name} = {value}")
    if not found:
        debugger.console.write(nothing)


@INFO.command("source", "so")
def _source(debugger: Debugger, argument: str) -> None:
    """The current source file."""
    path, _ = current_place(debugger)
    if not path:
        raise CommandError("There is no current file.")
    debugger.console.write(f"Current source file is {short_path(path)}")
    debugger.console.write(f"Located in {path}")
    lines = debugger.sources.lines(path)
    debugger.console.write(f"Contains {len(lines)} lines.")


@INFO.command("functions", "fu", usage="[PATTERN]")
def _functions(debugger: Debugger, argument: str) -> None:
    """The functions of the script and of the files that kernels were launched from, or those whose names match PATTERN.

    PATTERN is a regular expression. Host functions are among them, which breakpoints do not stop.
    """
    try:
        pattern = re.compile(argument)
    except re.error as error:
        raise CommandError(f'"{argument}" is no regular expression: {error}.') from None
    paths = {current_place(debugger)[0], script_path(debugger.script)}
    if debugger.is_running:
        with contextlib.suppress(CommandError):
            sources = debugger.session.request("loadedSources").get("sources") or []
            paths |= {str(one.get("path") or "") for one in sources}
    count = 0
    for path in sorted(paths - {""}):
        found = [(line, name) for line, name in debugger.sources.functions(path) if pattern.search(name)]
        if found:
            debugger.console.write(f"File {short_path(path)}:")
        for line, name in found:
            debugger.console.write(f"{line}:\t{name}")
        count += len(found)
    if not count:
        debugger.console.write("No functions." if not argument else f'No function matches "{argument}".')


@INFO.command("line", "li")
def _line(debugger: Debugger, argument: str) -> None:
    """A line, the current one without an argument, and whether it has code."""
    location = location_of(debugger, argument)
    path, line = location.path, location.line
    if location.function:
        path = current_place(debugger)[0]
        found = debugger.sources.definition(path, location.function)
        if found is None:
            raise CommandError(f'Function "{location.function}" is not defined in "{short_path(path)}".')
        line = found
    known = ""
    if debugger.session.focus is not None:

        def places_from(first: int, last: int) -> list[dict[str, Any]]:
            lines = {"source": {"path": path}, "line": first, "endLine": last}
            return debugger.session.request("breakpointLocations", lines).get("breakpoints") or []

        places = places_from(line, line)
        if location.function and not places:  # as a breakpoint: the function's first statement
            places = places_from(line, line + _MOST_LINES_OF_A_HEAD)
            line = min((int(one["line"]) for one in places), default=line)
        known = " has code" if any(one.get("line") == line for one in places) else " has no code of a kernel"
    debugger.console.write(
        f'Line {line} of "{short_path(path)}"{known or " is known when a kernel is stopped"}.'
    )


@INFO.command("frame", "f")
def _frame(debugger: Debugger, argument: str) -> None:
    """The selected function: its place, its callers, its thread."""
    frame, frames = debugger.session.frame(), debugger.session.frames()
    index, focus = frames.index(frame), debugger.session.thread()
    debugger.console.write(f"Stack level {index}: {frame.name} at {frame.place}")
    if index + 1 < len(frames):
        caller = frames[index + 1]
        debugger.console.write(f" called by {caller.name} at {caller.place}")
    if index > 0:
        callee = frames[index - 1]
        debugger.console.write(f" calls {callee.name} at {callee.place}")
    debugger.console.write(f" thread {focus.kernel} {focus.name}")


@INFO.command("stack", "s")
def _stack(debugger: Debugger, argument: str) -> None:
    """The stack of the thread in focus, as backtrace shows it."""
    debugger.execute(f"backtrace {argument}")


@INFO.command("threads", "th")
def _threads(debugger: Debugger, argument: str) -> None:
    """All threads of the launch; those at the same place with the same state are one row."""
    debugger.session.thread()
    for line in text.groups(debugger.session.request("cudasim/groups").get("groups") or []):
        debugger.console.write(line)


@INFO.command("display", "di")
def _display(debugger: Debugger, argument: str) -> None:
    """The expressions that every stop shows."""
    if not debugger.displays:
        debugger.console.write("There are no expressions on display.")
        return
    rows = [
        [
            one.number,
            "y" if one.enabled else "n",
            f"/{one.format} {one.expression}" if one.format else one.expression,
        ]
        for one in debugger.displays
    ]
    for line in text.table(["Num", "Enb", "Expression"], rows):
        debugger.console.write(line)


@INFO.command("convenience", "co")
def _convenience(debugger: Debugger, argument: str) -> None:
    """The values that have names: those of `set $NAME = EXPRESSION`."""
    debugger.execute("show convenience")


@INFO.command("program", "pr")
def _program(debugger: Debugger, argument: str) -> None:
    """What the program is doing."""
    if not debugger.is_running:
        debugger.console.write("The program is not being run.")
        return
    focus = debugger.session.thread()
    shape = f"grid {coordinates(focus.grid)}, block {coordinates(focus.block_dim)}"
    debugger.console.write(f"It is stopped in launch {focus.launch}: {focus.kernel}, {shape}")
    stop = debugger.session.stop
    if stop is not None:
        debugger.console.write(f"Reason: {stop.text or stop.description or stop.reason}")
