"""Values as text: the formats of print and x, and the history of values, $1, $2 and so on."""

from __future__ import annotations

import ast
import dataclasses
import re
import struct
from typing import TYPE_CHECKING, Any

from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

#: The letters that print takes after a slash.
FORMATS = "xduotacf"
_INTEGER = re.compile(r"\b(u?)int(\d+)\b")
_FLOAT = re.compile(r"\bfloat(\d+)\b")
_FLOAT_CODES = {16: "e", 32: "f", 64: "d"}
_NAMES = {"int": "int64", "float": "float64"}
_QUOTED = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
#: Quoted text; $name, and what counts it on behind it; $, $$, $3, $$2.
_HISTORY = re.compile(
    _QUOTED + r"|\$([A-Za-z_]\w*)((?:\+\+|--)(?=\s*(?:[\])},:;%*/|&^<>=!]|$)))?|\$(\$?)(\d*)(?!\w)"
)
#: The special registers, which may be written as those of CUDA's debugger: $threadIdx.x.
REGISTERS = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize")


def split_format(text: str) -> tuple[str, str]:
    """("x", "i + 1") of "/x i + 1"; the first is empty without a format.

    :raises CommandError: for letters that are no format
    """
    text = text.strip()
    if not text.startswith("/"):
        return "", text
    letters, _, rest = text[1:].partition(" ")
    if len(letters) != 1 or letters not in FORMATS:
        raise CommandError(f'Undefined output format "{letters}". The formats are: x d u o t a c f.')
    return letters, rest.strip()


def parsed(text: str) -> Any:
    """The Python value that a text is the repr() of.

    :raises ValueError: where it is none that can be read
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return ast.literal_eval(_WithFloatNames().visit(tree))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError(text) from None


class _WithFloatNames(ast.NodeTransformer):
    """Makes constants of nan and inf, which repr() writes as names."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id)) if node.id in ("nan", "inf") else node


def formatted(letter: str, value: Any, kind: str) -> str:
    """A value in one of print's formats; sequences element by element.

    :param kind: the name of its type, or of its elements' type, such as "int32"
    :raises CommandError: where a value has no such form
    """
    if isinstance(value, (list, tuple)):
        inside = ", ".join(formatted(letter, one, kind) for one in value)
        return "{" + inside + "}"
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, (int, float)):
        raise CommandError(f"A value of type {kind or type(value).__name__} has no format {letter}.")
    if letter == "f":
        return repr(float(value))
    return _integer_format(letter, *_bits(value, kind))


def _bits(value: int | float, kind: str) -> tuple[int, int, bool]:
    """(the value's bits as a number, how many there are, whether it is signed)."""
    kind = _NAMES.get(kind, kind)
    if isinstance(value, float):
        match = _FLOAT.search(kind)
        width = int(match[1]) if match and int(match[1]) in _FLOAT_CODES else 64
        try:
            data = struct.pack("<" + _FLOAT_CODES[width], value)
        except OverflowError:
            data = struct.pack("<d", value)
        return int.from_bytes(data, "little"), len(data) * 8, False
    match = _INTEGER.search(kind)
    width = max(int(match[2]) if match else 64, value.bit_length())
    return value & ((1 << width) - 1), width, not (match and match[1])


def _integer_format(letter: str, bits: int, width: int, signed: bool) -> str:
    if letter in "xa":
        return hex(bits)
    if letter == "o":
        return "0" + format(bits, "o") if bits else "0"
    if letter == "t":
        return format(bits, "b")
    if letter == "u":
        return str(bits)
    number = bits - (1 << width) if bits >> (width - 1) and (signed or letter == "d") else bits
    if letter == "c":
        code = bits & 0xFF
        shown = repr(chr(code)) if 32 <= code < 127 else f"'\\{code:03o}'"
        return f"{number} {shown}"
    return str(number)


@dataclasses.dataclass
class Value:
    """A value that was printed."""

    text: str
    kind: str

    def as_expression(self, name: str) -> str:
        """An expression that has this value again.

        :param name: what the user calls it, for the error
        :raises CommandError: where the text does not hold the whole value
        """
        if self.kind.endswith("*"):  # an address
            return self.text
        if self.kind == "bool":  # in Python and in C++
            return "(1 == 1)" if self.text == "True" else "(1 == 0)"
        whole = self.text.strip()
        if (named := _with_names(whole)) is not None:
            return named
        text = re.sub(r"(?<![\w.'\"])(nan|inf)\b", r"np.\1", whole)
        try:
            parsed(whole)
        except ValueError:
            text = ""
        if not text or "..." in text:
            raise CommandError(
                f"{name} cannot be part of an expression: its text does not hold the whole value."
            )
        array = re.search(r"\barray\((.+), \d+d", self.kind)
        if array:
            kind = array[1] if array[1].startswith("[") else repr(array[1])
            return f"np.array({text}, dtype={kind})"
        scalar = re.fullmatch(r"u?int(8|16|32|64)|float(16|32|64)|complex(64|128)", self.kind)
        return f"np.{self.kind}({text})" if scalar else f"({text})"


def _with_names(text: str) -> str | None:
    """An expression for the named tuple, or the record, that is written as "(x=1, y=2.5)"; None where it is none."""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not call.keywords or "..." in text:
            return None
        names = " ".join(str(one.arg) for one in call.keywords)
        items = [ast.unparse(one.value) for one in call.keywords]
        for item in items:
            parsed(item)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    values = re.sub(r"(?<![\w.'\"])(nan|inf)\b", r"np.\1", ", ".join(items))
    return f'__import__("collections").namedtuple("value", "{names}", rename=True)({values})'


class History:
    """The values that print has shown, and those that the user has given names: $1, $name.

    :param of_debugger: gives the values whose names the debugger has chosen, $bpnum and the like
    """

    def __init__(self, of_debugger: Callable[[str], Value | None] = lambda name: None) -> None:
        self.values: list[Value] = []
        self.named: dict[str, Value] = {}
        self._of_debugger = of_debugger

    def add(self, text: str, kind: str) -> int:
        """Keeps a value; its number, from 1."""
        self.values.append(Value(text, kind))
        return len(self.values)

    def find(self, marks: str, digits: str) -> Value:
        """The value of `$`, `$$`, `$3` or `$$2`.

        :raises CommandError: where there is none
        """
        count = len(self.values)
        if marks:
            number = count - (int(digits) if digits else 1)
        else:
            number = int(digits) if digits else count
        if not 1 <= number <= count:
            raise CommandError(
                f"History has not yet reached ${number}." if number > 0 else "The history has no such value."
            )
        return self.values[number - 1]

    def find_named(self, name: str) -> Value | None:
        """The value of $name; None where it has none."""
        return self.named.get(name) or self._of_debugger(name)

    def substituted(self, expression: str) -> str:
        """An expression with the values themselves instead of their names; quoted text is left alone. $name++ counts.

        :raises CommandError: for a name that has no value
        """

        def replaced(match: re.Match[str]) -> str:
            if not match[0].startswith("$"):
                return match[0]
            if match[1]:
                return self._meaning_of(match[1], match[2])
            return self.find(match[3], match[4]).as_expression(match[0])

        return _HISTORY.sub(replaced, expression)

    def _meaning_of(self, name: str, counted: str | None) -> str:
        value = self.find_named(name)
        if value is None and name in REGISTERS:
            return name
        if value is None:
            raise CommandError(f"${name} has no value: give it one with set ${name} = EXPRESSION.")
        text = value.as_expression(f"${name}")
        if counted:
            try:
                number = parsed(value.text) + (1 if counted == "++" else -1)
            except (ValueError, TypeError):
                raise CommandError(f"${name} is no number.") from None
            self.named[name] = Value(str(number), value.kind)
        return text


def shortened(text: str, elements: int) -> str:
    """The text of an array or tuple with so many elements at most; 0 means all of them."""
    if elements <= 0 or "," not in text:
        return text
    count = depth = 0
    for at, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth > 0:
            count += 1
            if count == elements and re.match(r",\s*(?!dtype=|shape=)\S", text[at:]):
                closing = _closing(text[:at])
                return text[:at] + ", ..." + closing
    return text


def _closing(text: str) -> str:
    pairs = {"(": ")", "[": "]", "{": "}"}
    stack: list[str] = []
    for character in text:
        if character in pairs:
            stack.append(pairs[character])
        elif stack and character == stack[-1]:
            stack.pop()
    return "".join(reversed(stack))
