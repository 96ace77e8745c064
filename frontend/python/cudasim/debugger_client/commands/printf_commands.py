"""printf: values in the formats of C."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import assignments, completion, values
from cudasim.debugger_client.commands.breakpoint_commands import split_at_commas, unescaped
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger

#: %%, or flags, width and precision, the length, which says nothing here, and the letter.
_FORMAT = re.compile(r"%(?:(%)|([-+ #0]*\d*(?:\.\d*)?)(?:hh|h|ll|l|z|j|t)?([a-zA-Z])|(.?))", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:,(.*))?$', re.DOTALL)
_WHOLE, _BITS, _FLOATS = "di", "uxXop", "fFeEgGaA"


@command("printf", usage='"FORMAT", EXPRESSION, ...', group="data", completer=completion.expressions)
def _printf(debugger: Debugger, argument: str) -> None:
    r"""Show a text with values in it, in the formats of C.

    FORMAT has %d %i %u %x %X %o %c %f %e %g %a %p, %s for any value as print shows it, and %% for the sign itself, with flags,
    width and precision. The text has an end of line where it says \n.

      printf "thread %3d: x is %8.3f\n", i, x[i]
    """
    found = _QUOTED.match(argument)
    if not found:
        raise CommandError('Write printf "FORMAT", EXPRESSION, ...')
    layout, following = unescaped(found[1]), found[2]
    expressions = [] if following is None else split_at_commas(following)
    formats = [match for match in _FORMAT.finditer(layout) if not match[1]]
    for match in formats:
        if match[3] is None or match[3] not in _WHOLE + _BITS + _FLOATS + "cs":
            raise CommandError(f'"{match[0]}" is no format of printf.')
    if len(formats) != len(expressions):
        raise CommandError(f"The text has {len(formats)} formats, but {len(expressions)} expressions follow.")
    texts = iter([_shown(debugger, expression, match) for expression, match in zip(expressions, formats)])
    debugger.console.write(_FORMAT.sub(lambda match: "%" if match[1] else next(texts), layout), end="")
    debugger.console.flush()


def _shown(debugger: Debugger, expression: str, match: re.Match[str]) -> str:
    """The value of an expression in a format."""
    flags, letter = match[2], match[3]
    value = assignments.evaluated_anywhere(debugger, expression)
    try:
        number: Any = values.parsed(value.whole)
    except ValueError:
        number = None
    if letter == "s":
        return f"%{flags}s" % (number if isinstance(number, str) else value.whole)
    if not isinstance(number, (int, float)):
        raise CommandError(f"The value of {expression} has no format {match[0]}: {value.whole}")
    try:
        return _number_shown(flags, letter, number, value.kind)
    except (ValueError, OverflowError):
        raise CommandError(f"The value of {expression} has no format {match[0]}: {value.whole}") from None


def _number_shown(flags: str, letter: str, number: int | float, kind: str) -> str:
    """:raises ValueError: for numbers that have no such form, as OverflowError is raised"""
    if letter in _FLOATS:
        if letter in "aA" and math.isfinite(number):
            text = f"%{flags.partition('.')[0].replace('0', '')}s" % float(number).hex()
            return text.upper() if letter == "A" else text
        return f"%{flags}{'f' if letter in 'aA' else letter}" % number
    whole = int(number)
    if letter in _WHOLE:
        return f"%{flags}d" % whole
    if letter == "c":
        return f"%{flags}s" % chr(whole)
    bits = int(values.formatted("u", whole, kind if isinstance(number, int) else "int64"))
    if letter == "o":
        text = format(bits, "o")
        return f"%{flags.replace('#', '')}s" % ("0" + text if "#" in flags and bits else text)
    if letter == "p":
        return f"%{flags.replace('#', '')}s" % hex(bits)
    return f"%{flags}{'d' if letter == 'u' else letter}" % bits
