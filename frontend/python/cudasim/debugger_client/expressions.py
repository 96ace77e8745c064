"""Expressions, evaluated by the program in the selected frame."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from cudasim.debugger_client import values
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


@dataclasses.dataclass
class Evaluated:
    """A value: its text as it is shown, the text that the program gave, its type, the number of its parts, its address."""

    text: str
    whole: str
    kind: str
    reference: int = 0
    address: str = ""


def evaluated(debugger: Debugger, expression: str, letter: str = "", context: str = "repl") -> Evaluated:
    """The value of an expression, in a format where one is given.

    :raises CommandError: where it has none
    """
    debugger.session.thread()
    result = _evaluate(debugger, debugger.history.substituted(expression), context)
    if not letter:
        result.text = values.shortened(result.whole, debugger.settings["print elements"].value)
        return result
    try:
        value = values.parsed(result.whole)
    except ValueError:
        value = _as_list(debugger, expression, context, letter)
    result.text = values.formatted(letter, value, result.kind)
    return result


def _as_list(debugger: Debugger, expression: str, context: str, letter: str) -> object:
    """The value of an array, as lists."""
    listed = _evaluate(debugger, f"({debugger.history.substituted(expression)}).tolist()", context)
    try:
        return values.parsed(listed.whole)
    except ValueError:
        raise CommandError(f"The value has no format {letter}: {listed.whole}") from None


def _evaluate(debugger: Debugger, expression: str, context: str) -> Evaluated:
    if not expression.strip():
        raise CommandError("An expression is missing.")
    arguments = {"expression": expression, "context": context, **debugger.session.frame_arguments()}
    body = debugger.session.request("evaluate", arguments)
    whole = str(body.get("result", ""))
    return Evaluated(
        text=whole,
        whole=whole,
        kind=str(body.get("type") or ""),
        reference=int(body.get("variablesReference") or 0),
        address=str(body.get("memoryReference") or ""),
    )
