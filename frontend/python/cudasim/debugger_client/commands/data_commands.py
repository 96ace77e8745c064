"""Expressions, assignment, display and memory."""

from __future__ import annotations

import base64
import re
import struct
from typing import TYPE_CHECKING

from cudasim.debugger_client import (
    assignments,
    completion,
    expressions,
    ranges,
    stop_reports,
    text,
    values,
    variables,
)
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.settings import Display

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

#: What the program says of expressions that it cannot read, and of names that it does not have.
_MEANS_NOTHING = re.compile(
    r"\bis not defined\b|\bSyntaxError\b|^there is no variable\b|^column \d+:|\$\w+ has no value"
)


@command(
    "print",
    "p",
    "pp",
    "pr",
    "pri",
    "prin",
    "inspect",
    usage="[-warp|-block] [/FORMAT] EXPRESSION",
    group="data",
    completer=completion.expressions,
)
def _print(debugger: Debugger, argument: str) -> None:
    """Show the value of an expression.

    An expression is Python, with NumPy as np, over the variables of the selected function and threadIdx, blockIdx,
    blockDim, gridDim, laneid and warpsize. Values are kept: $1, $2 and so on, $ for the last, $$ for the one before,
    $name for what `set $name = EXPRESSION` has kept. Without an expression the last value is shown again.
    &x[3] is where something lies, *ADDRESS what lies there, x[3]@4 four elements from there on. An assignment is
    carried out, and its value shown.
    FORMAT is x, d, u, o, t (binary), a, c or f. With -warp the value is shown for the 32 lanes of the focus's warp, with
    -block for all threads of its block, equal values together.
    """
    scope = ""
    match = re.match(r"-(warp|block|-)(?:\s+|$)", argument)
    if match:
        scope, argument = match[1].replace("-", ""), argument[match.end() :]
    letter, expression = values.split_format(argument)
    if scope:
        _print_lanes(debugger, scope, letter, expression)
        return
    again = _kept(debugger, expression) if not letter else None
    if again is not None:
        value = expressions.Evaluated(again.text, again.text, again.kind)
        value.text = values.shortened(value.text, debugger.settings["print elements"].value)
    else:
        value = _value_of(debugger, expression, letter)
    number = debugger.history.add(value.whole, value.kind)
    debugger.console.write(f"${number} = {value.text}")


def _kept(debugger: Debugger, expression: str) -> values.Value | None:
    """The value that was shown before, or has a name, where an expression is no more than that."""
    name = re.fullmatch(r"\$([A-Za-z_]\w*)", expression)
    if name:
        found = debugger.history.find_named(name[1])
        return found or (None if name[1] in values.REGISTERS else values.Value("void", "void"))
    shown = re.fullmatch(r"\$(\$?)(\d*)", expression or "$")
    if shown and (expression or debugger.history.values):
        return debugger.history.find(shown[1], shown[2])
    return None


def _value_of(debugger: Debugger, expression: str, letter: str) -> expressions.Evaluated:
    """The value of an expression, or of an assignment, which is carried out."""
    assignment = assignments.found_in(expression)
    if assignment is not None:
        value = assignments.carry_out(debugger, assignment)
    elif debugger.session.focus is None and "$" in expression:
        value = assignments.evaluated_anywhere(debugger, expression)
    else:
        return expressions.evaluated(debugger, expression, letter)
    if letter:
        try:
            value.text = values.formatted(letter, values.parsed(value.whole), value.kind)
        except ValueError:
            raise CommandError(f"The value has no format {letter}: {value.whole}") from None
    return value


def lane_values(debugger: Debugger, expression: str, scope: str) -> list[dict[str, Any]]:
    """An expression's values in many threads, equal ones together: {"threads": range, "result" or "error": text}."""
    if not expression:
        raise CommandError("An expression is missing.")
    debugger.session.thread()
    arguments = {
        "expression": debugger.history.substituted(expression),
        "scope": scope,
        **debugger.session.frame_arguments(),
    }
    return debugger.session.request("cudasim/evaluateLanes", arguments).get("values") or []


def _print_lanes(debugger: Debugger, scope: str, letter: str, expression: str) -> None:
    focus = debugger.session.thread()
    found = lane_values(debugger, expression, scope)
    rows: list[tuple[str, str]] = []
    for one in found:
        text_of_it = f"<{one['error']}>" if "error" in one else _lane_text(one, letter)
        rows.append((str(one.get("threads")), text_of_it))
    write = debugger.console.write
    if scope == "warp" and sum("error" not in one for one in found) > 1:
        per_lane = []
        for (threads, value), one in zip(rows, found):
            lanes = [thread % 32 for thread in ranges.expanded(threads, focus.block_dim)]
            per_lane += [(lane, "-" if "error" in one else value) for lane in lanes]
        for line in text.lanes(sorted(per_lane)):
            write(line)
        rows = [row for row, one in zip(rows, found) if "error" in one]
    width = max((len(threads) for threads, _ in rows), default=0)
    for threads, value in rows:
        write(f"  thread {threads:<{width}}  {value}")


def _lane_text(one: dict[str, Any], letter: str) -> str:
    """The value of some threads, in a format where one is given."""
    value = str(one.get("result"))
    if not letter:
        return value
    try:
        return values.formatted(letter, values.parsed(value), str(one.get("type") or ""))
    except ValueError:
        raise CommandError(f"The value has no format {letter}: {value}") from None


@command("call", "ca", usage="EXPRESSION", group="data", completer=completion.expressions)
def _call(debugger: Debugger, argument: str) -> None:
    """Evaluate an expression, and show its value unless it is None."""
    letter, expression = values.split_format(argument)
    value = _value_of(debugger, expression, letter)
    if value.whole not in ("None", ""):
        number = debugger.history.add(value.whole, value.kind)
        debugger.console.write(f"${number} = {value.text}")


@command("output", usage="EXPRESSION", group="data", completer=completion.expressions)
def _output(debugger: Debugger, argument: str) -> None:
    """Show a value without its number and without an end of line."""
    letter, expression = values.split_format(argument)
    debugger.console.write(expressions.evaluated(debugger, expression, letter).text, end="")


@command("whatis", usage="EXPRESSION", group="data", completer=completion.expressions)
def _whatis(debugger: Debugger, argument: str) -> None:
    """Show the type of an expression."""
    value = expressions.evaluated(debugger, argument)
    debugger.console.write(f"type = {value.kind or 'unknown'}")


@command("ptype", usage="EXPRESSION", group="data", completer=completion.expressions)
def _ptype(debugger: Debugger, argument: str) -> None:
    """Show the type of an expression, with the types of its fields."""
    value = expressions.evaluated(debugger, argument)
    debugger.console.write(f"type = {value.kind or 'unknown'}")
    if value.reference and "array" not in value.kind:
        for child in variables.children(debugger, value.reference):
            debugger.console.write(f"    {child.get('name')}: {child.get('type') or 'unknown'}")


def set_variable(debugger: Debugger, argument: str) -> None:
    """Carries out `set var NAME = EXPRESSION`, also with another operator, such as +=, and with several names.

    :raises CommandError: for what is no assignment, and where the program refuses it
    """
    assignment = assignments.found_in(argument)
    if assignment is None:
        raise CommandError("Write set var NAME = EXPRESSION.")
    assignments.carry_out(debugger, assignment)


@command("display", "disp", usage="[/FORMAT] [EXPRESSION]", group="data", completer=completion.expressions)
def _display(debugger: Debugger, argument: str) -> None:
    """Show the value of an expression at every stop.

    Without an expression all that are on display are shown now. Where a kernel stands, an expression that means nothing there
    is refused; one of a variable that has no value yet, or of an element that is not there, waits for a stop where it has one.
    """
    if not argument:
        stop_reports.tell_displays(debugger)
        return
    letter, expression = values.split_format(argument)
    _refuse_nonsense(debugger, expression)
    number = max((one.number for one in debugger.displays), default=0) + 1
    debugger.displays.append(Display(number, expression, letter))
    if debugger.session.focus is not None:
        stop_reports.tell_display(debugger, number, expression, letter)


def _refuse_nonsense(debugger: Debugger, expression: str) -> None:
    """:raises CommandError: for an expression that has no value at any stop in the selected function"""
    if debugger.session.focus is None or not debugger.session.frames():
        return
    try:
        expressions.evaluated(debugger, expression, context="watch")
    except CommandError as error:
        if _MEANS_NOTHING.search(str(error)):
            raise


@command("undisplay", usage="[NUMBERS]", group="data")
def _undisplay(debugger: Debugger, argument: str) -> None:
    """Remove expressions from those on display, all of them without NUMBERS."""
    known = {str(one.number) for one in debugger.displays}
    words = argument.replace(",", " ").split()
    for word in words:
        if word not in known:
            raise CommandError(f'No display number "{word}".')
    if (
        not words
        and debugger.displays
        and not debugger.console.agrees("Remove all expressions from display?")
    ):
        return
    debugger.displays = [one for one in debugger.displays if words and str(one.number) not in words]


_UNITS = {"b": (1, "B"), "h": (2, "H"), "w": (4, "I"), "g": (8, "Q")}


@command("x", usage="[/NFU] ADDRESS", group="data", repeats=True, completer=completion.expressions)
def _x(debugger: Debugger, argument: str) -> None:
    """Show memory.

    N is how many units, F a format (x, d, u, o, t, c, f, s), U a unit: b is 1 byte, h 2, w 4, g 8. ADDRESS is a number or
    an expression with an address, such as an array or &values[3]. $_ is the last address then, and $__ what is there.

      x/8fw values
      x/4fw &values[i + 1]
    """
    layout, expression = "", argument
    if argument.startswith("/"):
        layout, _, expression = argument.partition(" ")
    match = re.fullmatch(r"/?(\d*)([xduotcfs]?)([bhwg]?)([xduotcfs]?)", layout)
    if not match or (match[2] and match[4]):
        raise CommandError(
            f'"{layout}" is no layout of memory: a count, one of x d u o t c f s, and one of b h w g.'
        )
    count, letter = int(match[1] or 1), match[2] or match[4] or "x"
    size, code = _UNITS[match[3] or ("b" if letter in "cs" else "w")]
    address = address_of(debugger, expression)
    length = count * size if letter != "s" else 200
    body = debugger.session.request(
        "readMemory", {"memoryReference": hex(address), "offset": 0, "count": length}
    )
    data = base64.b64decode(str(body.get("data") or ""))
    if letter == "s":
        data = data.split(b"\0", 1)[0]
        debugger.console.write(f"{address:#x}:\t{data.decode(errors='backslashreplace')!r}")
        return
    _show_memory(debugger, address, data[: len(data) - len(data) % size], letter, size, code)
    if len(data) >= size:  # as gdb: $_ is where the last unit lies, $__ what is there
        last = len(data) // size - 1
        (unit,) = struct.unpack_from(
            "<" + ({2: "e", 4: "f", 8: "d"}[size] if letter == "f" else code), data, last * size
        )
        debugger.history.named["_"] = values.Value(hex(address + last * size), "int")
        debugger.history.named["__"] = values.Value(repr(unit), "float" if letter == "f" else "int")
    if len(data) < length:
        raise CommandError(f"Cannot access memory at address {address + len(data) - len(data) % size:#x}.")


def _show_memory(debugger: Debugger, address: int, data: bytes, letter: str, size: int, code: str) -> None:
    if letter == "f" and size == 1:
        raise CommandError("There are no floating point numbers of 1 byte.")
    per_line = {1: 8, 2: 8, 4: 4, 8: 2}[size]
    code = {2: "e", 4: "f", 8: "d"}[size] if letter == "f" else code
    units = struct.unpack(f"<{len(data) // size}{code}", data)
    for begin in range(0, len(units), per_line):
        cells = [_unit_text(one, letter, size) for one in units[begin : begin + per_line]]
        debugger.console.write(f"{address + begin * size:#x}:\t" + "\t".join(cells))


def _unit_text(value: int | float, letter: str, size: int) -> str:
    if letter == "f":
        return repr(value)
    if letter == "x":
        return f"0x{value:0{2 * size}x}"
    if letter == "t":
        return f"{value:0{8 * size}b}"
    kind = f"int{8 * size}" if letter in "dc" else f"uint{8 * size}"
    return values.formatted(letter, value, kind)


def address_of(debugger: Debugger, expression: str) -> int:
    """The address that an expression is, or that what it names has.

    :raises CommandError: where it has none
    """
    if not expression.strip():
        raise CommandError("An address is missing.")
    debugger.session.thread()
    substituted = debugger.history.substituted(expression)
    # Also the value of &x, which print shows with its type.
    number = re.fullmatch(r"\s*(?:\([\w ]+\*\)\s*)?(0x[0-9a-fA-F]+|\d+)\s*", substituted)
    if number:
        return int(number[1], 0)
    value = expressions.evaluated(debugger, substituted)
    try:
        return int(value.address or value.whole, 0)
    except ValueError:
        raise CommandError(f"{expression} has no address.") from None
