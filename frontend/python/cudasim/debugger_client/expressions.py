"""Expressions, evaluated by the program in the selected frame."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from cudasim.debugger_client import values, variables
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

#: Elements of an array that are kept where fewer are shown.
_KEPT = 1000


@dataclasses.dataclass
class Evaluated:
    """A value: its text as it is shown, the text that the program gave, its type, the number of its parts, its address."""

    text: str
    whole: str
    kind: str
    reference: int = 0
    address: str = ""


def evaluated(
    debugger: Debugger, expression: str, letter: str = "", context: str = "repl", whole: bool = False
) -> Evaluated:
    """The value of an expression, in a format where one is given.

    :param whole: of arrays all elements, as many as the program tells
    :raises CommandError: where it has none
    """
    debugger.session.thread()
    expression = debugger.history.substituted(expression)
    result = from_program(debugger, expression, context)
    limit = debugger.settings["print elements"].value
    is_array_in_part = "array(" in result.kind and "..." in result.whole
    if not letter:
        if is_array_in_part and context == "repl":
            wanted = 0 if whole else limit
            result.whole = (
                _more_of_array(debugger, expression, wanted)
                or _from_parts(debugger, result, wanted or _KEPT)
                or result.whole
            )
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
    """The text of an array of which the program shows a few elements: with all elements, or with more than the limit from its
    beginning on; or ""."""
    for count in dict.fromkeys((max(limit, _KEPT) if limit else 0, limit or _KEPT)):
        # Whole rows, and one more than are shown, so that it is known that there are more.
        rows = f"[:1 + -(-{count} // max(1, a[0].size))]" if count else ""
        printed = (
            f"(lambda a: np.array2string(a{rows}, separator=', ', threshold=1000000000, max_line_width=1000000) if a.size else '[]')"
            f"(np.asarray({expression}))"
        )
        try:
            text = values.parsed(from_program(debugger, printed, "watch").whole)
        except (CommandError, ValueError):  # Longer than the program sends.
            continue
        if isinstance(text, str):
            return values.shortened(" ".join(text.split()), count)
    return ""


def _from_parts(debugger: Debugger, array: Evaluated, count: int) -> str:
    """The text of an array of one dimension that Python cannot compute, with so many elements at most; ""."""
    if "1d" not in array.kind:
        return ""
    found = variables.children(debugger, array.reference, count + 1)
    return (
        values.shortened("[" + ", ".join(str(one.get("value")) for one in found) + "]", count)
        if found
        else ""
    )


def _first_elements(debugger: Debugger, expression: str, limit: int) -> object:
    """The first elements of an array as a flat list."""
    count = min(limit or 200, 200)
    return values.parsed(from_program(debugger, f"np.ravel({expression})[:{count}].tolist()", "watch").whole)


def from_program(debugger: Debugger, expression: str, context: str) -> Evaluated:
    """What the program says of an expression; in the context "repl" it may be an assignment.

    :raises CommandError: where it has no value
    """
    if not expression.strip():
        raise CommandError("An expression is missing.")
    arguments = {"expression": expression, "context": context, **debugger.session.frame_arguments()}
    body = debugger.session.request("evaluate", arguments)
    if context == "repl" and "=" in expression:
        debugger.session.frames_changed()
    return described(body, "result")


def described(body: dict[str, Any], member: str) -> Evaluated:
    """What a response says of a value."""
    whole = str(body.get(member, ""))
    return Evaluated(
        text=whole,
        whole=whole,
        kind=str(body.get("type") or ""),
        reference=int(body.get("variablesReference") or 0),
        address=str(body.get("memoryReference") or ""),
    )
