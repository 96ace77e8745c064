"""Assignments, as they are typed: total = 0, i += 2, a = b = 3, $n = i."""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import expressions, values
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger

_OPERATIONS = ("**", "//", "<<", ">>", "+", "-", "*", "/", "%", "&", "|", "^", "@")
_OPENING, _CLOSING = "([{", ")]}"
_NAMED = re.compile(r"\$([A-Za-z_]\w*)$")
_PLACE = r"\$?[A-Za-z_]\w*(?:\s*[.\[].*)?"
_PLACES = re.compile(rf"\s*(?:{_PLACE}|[A-Za-z_]\w*(?:\s*,\s*{_PLACE})+)\s*", re.DOTALL)
#: What has the same value wherever it is evaluated, and is soon evaluated.
_CONSTANT = (ast.Expression, ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp, ast.Load, ast.USub, ast.UAdd, ast.Invert,
             ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor)  # fmt: skip


@dataclasses.dataclass
class Assignment:
    """What is assigned to, from left to right; the operation of an operator such as +=; the value."""

    targets: list[str]
    operation: str
    value: str

    @property
    def names_values(self) -> bool:
        """Whether it gives a $name a value."""
        return any(_NAMED.match(target) for target in self.targets)


def found_in(text: str) -> Assignment | None:
    """The assignment that a text is; None where it is none, as `i == 3` and `f(a=3)`."""
    targets: list[str] = []
    operation = ""
    begin = at = depth = 0
    quote = ""
    while at < len(text):
        character = text[at]
        if quote:
            if character == "\\":
                at += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif depth == 0 and re.match(r"(?<!\w)lambda\b", text[at:]):
            break
        elif depth == 0 and character == "=" and not operation:
            if text[at + 1 : at + 2] == "=":
                at += 2
                continue
            before = text[begin:at]
            used = next((one for one in _OPERATIONS if before.endswith(one)), "")
            if used and targets or not used and before[-1:] in ("!", "<", ">", ":"):
                return None
            operation = used
            targets.append(before[: len(before) - len(used)].strip())
            begin = at + 1
        at += 1
    value = text[begin:].strip()
    return Assignment(targets, operation, value) if targets and value and all(targets) else None


def is_statement(line: str) -> bool:
    """Whether a line is an assignment and no command: it begins with what is assigned to."""
    assignment = found_in(line)
    return assignment is not None and all(_PLACES.fullmatch(target) for target in assignment.targets)


def carry_out(debugger: Debugger, assignment: Assignment) -> expressions.Evaluated:
    """Assigns; the first target's value.

    :raises CommandError: where the program refuses it
    """
    if assignment.names_values:
        return _to_names(debugger, assignment)
    debugger.session.thread()
    substituted = debugger.history.substituted
    targets = [substituted(target) for target in assignment.targets]
    value = substituted(assignment.value)
    if len(targets) > 1 or assignment.operation:
        between = f" {assignment.operation}= "
        return expressions.from_program(debugger, between.join([*targets, value]), "repl")
    arguments = {"expression": targets[0], "value": value, **debugger.session.frame_arguments()}
    body = debugger.session.request("setExpression", arguments)
    debugger.session.frames_changed()
    return expressions.described(body, "value")


def _to_names(debugger: Debugger, assignment: Assignment) -> expressions.Evaluated:
    text = assignment.value
    if assignment.operation:
        text = f"{assignment.targets[0]} {assignment.operation} ({text})"
    value = evaluated_anywhere(debugger, text)
    for target in assignment.targets:
        name = _NAMED.match(target)
        if name:
            give_name(debugger, name[1], values.Value(value.whole, value.kind))
        else:
            kept = values.Value(value.whole, value.kind).as_expression(text)
            carry_out(debugger, Assignment([target], "", kept))
    return value


def give_name(debugger: Debugger, name: str, value: values.Value) -> None:
    """$name has this value from now on, also in conditions of breakpoints."""
    if name in values.REGISTERS:
        raise CommandError(f"${name} is a special register, and cannot be set.")
    debugger.history.named[name] = value
    used = re.compile(rf"\${name}(?!\w)")
    debugger.send_breakpoints({one.key for one in debugger.breakpoints.all() if used.search(one.condition)})


def evaluated_anywhere(debugger: Debugger, expression: str) -> expressions.Evaluated:
    """The value of an expression; where no kernel is stopped, of one that names no variables.

    :raises CommandError: where it has none
    """
    if debugger.session.focus is not None:
        return expressions.evaluated(debugger, expression, whole=True)
    try:
        return constant(debugger.history.substituted(expression))
    except ValueError:
        debugger.session.thread()  # says why nothing can be evaluated
        raise


def constant(text: str) -> expressions.Evaluated:
    """The value of an expression of numbers and texts.

    :raises ValueError: where it is another
    """
    text = re.sub(r"\bnp\.(?:u?int|float|complex)\d+\(", "(", text)
    try:
        tree = ast.parse(text.strip(), mode="eval")
        if not all(isinstance(node, _CONSTANT) for node in ast.walk(tree)):
            raise ValueError(text)
        value = eval(compile(tree, "<debugger>", "eval"), {"__builtins__": {}})  # noqa: S307 - numbers and operators
    except ArithmeticError as error:
        raise CommandError(f"{type(error).__name__}: {error}") from None
    except (SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError(text) from None
    shown = repr(value)
    return expressions.Evaluated(text=shown, whole=shown, kind=type(value).__name__)
