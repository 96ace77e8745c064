"""Watchpoints: watch, rwatch, awatch. Everything else about them is done by the commands of breakpoints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion
from cudasim.debugger_client.breakpoints import READ, READ_WRITE, WRITE
from cudasim.debugger_client.commands.breakpoint_commands import split_conditions
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

_USAGE = "[-location] EXPRESSION [thread RANGE] [block RANGE] [if CONDITION]"


def split_expression(text: str) -> tuple[str, str]:
    """(expression, what follows it): that begins with the first thread, block or if that stands in no brackets."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and character.isspace() and re.match(r"\s+(?:thread|block|if)\b", text[at:]):
            return text[:at].strip(), text[at:].strip()
    return text.strip(), ""


def watched_place(debugger: Debugger, expression: str, failure: str) -> dict[str, Any]:
    """What the program knows a place by that can be watched: the body of dataBreakpointInfo.

    :raises CommandError: where there is none; begins with `failure`
    """
    name = debugger.history.substituted(expression)
    info = debugger.session.request(
        "dataBreakpointInfo", {"name": name, **debugger.session.frame_arguments()}
    )
    if not info.get("dataId"):
        raise CommandError(f"{failure} {expression}: {info.get('description') or 'it is not there'}.")
    return info


def _set(debugger: Debugger, argument: str, access: str, name: str) -> None:
    argument = re.sub(r"^-l(?:ocation)?\s+", "", argument)
    expression, rest = split_expression(argument)
    if not expression or re.match(r"-l(?:ocation)?$", expression):
        raise CommandError(f"What is to be watched is missing: {name} {_USAGE}.")
    conditions = split_conditions(rest)[1] if rest else {}
    if debugger.session.focus is None:
        raise CommandError(
            "No kernel is stopped, and its variables exist only then. "
            f"Stop in it first, by start or a breakpoint, then {name} {expression}."
        )
    info = watched_place(debugger, expression, "Cannot watch")
    if access not in (info.get("accessTypes") or [WRITE]):
        raise CommandError(f"{expression} is a variable: its assignments are seen, and no reads. Use watch.")
    added = debugger.breakpoints.add(
        expression=expression, access=access, data_id=str(info["dataId"]), **conditions
    )
    debugger.send_breakpoints({added.key})
    if added.problem:
        debugger.breakpoints.remove([added.number])
        raise CommandError(f"Cannot watch {expression}: {added.problem}.")
    debugger.console.write(added.title)
    own = info.get("cudasim") or {}
    if own.get("space") == "shared":
        where = f"block {added.blocks}" if added.blocks else f"block {own.get('block')} only"
        debugger.console.write(f"[It is in shared memory, and watched in {where}]")


@command("watch", usage=_USAGE, group="breakpoints", completer=completion.expressions)
def _watch(debugger: Debugger, argument: str) -> None:
    """Stop whenever a value changes, in the thread that changes it.

    EXPRESSION is a variable, an element s[3], a slice x[2:8], an array, a member p.mass, or an address: *0x20000000000 : 8,
    *(float32 *) 0x20000000000. Memory is watched where it lies now, whichever thread of whichever block writes there; -location
    says so in gdb's words. Shared memory is that of the block in focus; with block RANGE that of these blocks, and
    else block RANGE and thread RANGE choose the threads that stop. A variable is watched in the thread in focus, until its function returns.

      watch s[3] if threadIdx.x > 7
    """
    _set(debugger, argument, WRITE, "watch")


@command("rwatch", usage=_USAGE, group="breakpoints", completer=completion.expressions)
def _rwatch(debugger: Debugger, argument: str) -> None:
    """Stop whenever memory is read, in the thread that reads it.

    Its arguments are those of watch.
    """
    _set(debugger, argument, READ, "rwatch")


@command("awatch", usage=_USAGE, group="breakpoints", completer=completion.expressions)
def _awatch(debugger: Debugger, argument: str) -> None:
    """Stop whenever memory is read or written, also where its value stays the same.

    Its arguments are those of watch.
    """
    _set(debugger, argument, READ_WRITE, "awatch")
