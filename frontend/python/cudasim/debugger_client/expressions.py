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
    expression = debugger.history.substituted(expression)
    result = _evaluate(debugger, expression, context)
    limit = debugger.settings["print elements"].value
    is_array_in_part = "array(" in result.kind and "..." in result.whole
    if not letter:
        if is_array_in_part and context == "repl":
            result.whole = _more_of_array(debugger, expression, limit) or result.whole
        result.text = values.shortened(result.whole, limit)
        return result
    try:
        if is_array_in_part:
            value = _first_elements(debugger, expression, limit)
        else:
            value = values.parsed(result.whole)
    except ValueError:
        raise CommandError(f"The value has no format {letter}: {result.whole}") from None
    result.text = values.formatted(letter, value, result.kind)
    if is_array_in_part:
        result.text = result.text[:-1] + ", ...}"
    return result


def _more_of_array(debugger: Debugger, expression: str, limit: int) -> str:
    """The text of an array of which the program shows a few elements: all up to the limit, else those at both ends; or ""."""
    threshold = limit or 1_000_000_000
    printed = f"np.array2string({expression}, separator=', ', threshold={threshold}, max_line_width=1000000)"
    try:
        text = values.parsed(_evaluate(debugger, printed, "watch").whole)
    except (CommandError, ValueError):  # Longer than the program sends.
        return ""
    return " ".join(text.split()) if isinstance(text, str) else ""


def _first_elements(debugger: Debugger, expression: str, limit: int) -> object:
    """The first elements of an array as a flat list."""
    count = min(limit or 200, 200)
    return values.parsed(_evaluate(debugger, f"np.ravel({expression})[:{count}].tolist()", "watch").whole)


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
