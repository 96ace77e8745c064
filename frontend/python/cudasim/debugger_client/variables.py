"""The variables of a frame, by the scopes that the program tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.debugger_client import values
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger
    from cudasim.debugger_client.places import Frame

LOCALS, ARGUMENTS, REGISTERS, SHARED = "Locals", "Arguments", "Special registers", "Shared"


def of_scope(debugger: Debugger, frame: Frame, scope: str) -> list[tuple[str, str]]:
    """(name, value) of each variable of a scope; empty where the frame has no such scope.

    A value that was returned, which editors see among the locals, is none.
    """
    limit = debugger.settings["print elements"].value
    body = debugger.session.request("scopes", {"frameId": frame.id})
    found: list[tuple[str, str]] = []
    for one in body.get("scopes") or []:
        if one.get("name") == scope:
            for variable in children(debugger, int(one.get("variablesReference") or 0)):
                name = str(variable.get("name"))
                if not name.startswith("(return) "):
                    found.append((name, values.shortened(str(variable.get("value")), limit)))
    return found


def children(debugger: Debugger, reference: int, count: int = 0) -> list[dict[str, Any]]:
    """The parts of a scope or of a value.

    :param count: how many of them, from the first on; 0 means all
    """
    if not reference:
        return []
    arguments = {"variablesReference": reference, **({"start": 0, "count": count} if count else {})}
    return debugger.session.request("variables", arguments).get("variables") or []


def arguments(debugger: Debugger, frame: Frame) -> list[tuple[str, str]]:
    """A frame's arguments; none where they cannot be told, as those of the host's functions."""
    try:
        return of_scope(debugger, frame, ARGUMENTS)
    except CommandError:
        return []
