"""Breakpoints: setting, changing and removing them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.locations import location_of
from cudasim.debugger_client.ranges import take_range

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.breakpoints import Breakpoint
    from cudasim.debugger_client.debugger import Debugger


def split_conditions(text: str) -> tuple[str, dict[str, Any]]:
    """(location, {"threads": …, "blocks": …, "condition": …}) of a breakpoint's arguments.

    :raises CommandError: for words that are neither
    """
    found: dict[str, Any] = {}
    location = ""
    text = text.strip()
    if not re.match(r"(?:thread|block|if)\b", text):
        location, _, text = text.partition(" ")
    text = text.strip()
    while text:
        word, rest = re.match(r"(\w*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
        rest = rest.strip()
        if word == "if":
            if not rest:
                raise CommandError("A condition is missing after if.")
            found["condition"] = rest
            break
        if word not in ("thread", "block") or word + "s" in found:
            raise CommandError(
                f'Junk at the end of the arguments: "{text}". What may follow is thread RANGE, block RANGE, if CONDITION.'
            )
        found[word + "s"], text = take_range(rest)
    return location, found


def _set(debugger: Debugger, argument: str, **further: Any) -> None:
    text, conditions = split_conditions(argument)
    location = location_of(debugger, text)
    added = debugger.breakpoints.add(
        path=location.path, line=location.line, function=location.function, **conditions, **further
    )
    _send_with_condition(debugger, added)
    kind = "Temporary breakpoint" if added.temporary else added.kind.capitalize()
    if not location.known and not added.verified:
        debugger.console.write(f"{kind} {added.number} ({location.text}) pending.")
        return
    debugger.console.write(f"{kind} {added.number} at {added.place}")
    if added.problem:
        debugger.console.write(f"It cannot stop the program: {added.problem}")
    elif added.actual_line and added.actual_line != added.line and not added.function:
        debugger.console.write(f"Line {added.line} has no code; it stops at line {added.actual_line}.")
    elif not added.function and debugger.sources.is_outside_of_functions(added.path, added.line):
        debugger.console.write(
            f"Line {added.line} lies in no function, so no kernel comes to it. Lines of the host are for Python's debuggers."
        )


def _send_with_condition(debugger: Debugger, added: Breakpoint) -> None:
    """Tells the program of a new breakpoint.

    :raises CommandError: where its condition means nothing; the breakpoint is not there then
    """
    debugger.send_breakpoints({added.key})
    if added.is_refused:
        debugger.send_breakpoints(debugger.breakpoints.remove([added.number]))
        raise CommandError(f"No breakpoint is set: {added.problem}.")


@command("break", "b", "br", "bre", "brea", usage="[LOCATION] [thread RANGE] [block RANGE] [if CONDITION]", group="breakpoints",
         completer=completion.locations)  # fmt: skip
def _break(debugger: Debugger, argument: str) -> None:
    """Set a breakpoint.

    LOCATION is LINE, FILE:LINE or FUNCTION (a kernel or a device function), and the current line where it is left out.
    thread and block limit it to some threads: 3 and 0..31 are linear indices, (40,2,0) coordinates, * is all, and
    [0..3,8] a list. CONDITION is an expression over the kernel's variables, threadIdx and its like.

      break conv.py:37 thread 0..31 block (40,2,0) if s[i] > 2
    """
    _set(debugger, argument)


@command(
    "tbreak",
    "tb",
    usage="[LOCATION] [thread RANGE] [block RANGE] [if CONDITION]",
    group="breakpoints",
    completer=completion.locations,
)
def _tbreak(debugger: Debugger, argument: str) -> None:
    """Set a breakpoint that is removed when it has stopped the program once.

    Its arguments are those of break.
    """
    _set(debugger, argument, temporary=True)


@command(
    "dprintf",
    usage='LOCATION [thread RANGE] [block RANGE],"TEXT {EXPRESSION}"',
    group="breakpoints",
    completer=completion.locations,
)
def _dprintf(debugger: Debugger, argument: str) -> None:
    """Print a text whenever a thread comes to LOCATION, without stopping.

    Expressions in braces are replaced by their values in that thread. Formats such as %d take expressions that follow:

      dprintf script.py:12,"i is {i}, x[i] is {x[i]}"
      dprintf script.py:12,"i is %d\\n", i
    """
    found = re.match(r"""([^"]*?),\s*"((?:[^"\\]|\\.)*)"\s*(?:,(.*))?$""", argument, re.DOTALL)
    if not found:
        raise CommandError('Write dprintf LOCATION,"TEXT {EXPRESSION}".')
    message = unescaped(found[2])
    if found[3]:
        message = _with_expressions(message, found[3])
    _set(debugger, found[1], message=message.rstrip("\n"))


def unescaped(text: str) -> str:
    """A text with what \\n and the like stand for."""
    marks = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
    return re.sub(r"\\(.)", lambda match: marks.get(match[1], match[1]), text)


def _with_expressions(message: str, following: str) -> str:
    expressions = split_at_commas(following)
    formats = re.findall(r"%[-+ #0-9.]*l*[a-zA-Z]", message)
    if len(formats) != len(expressions):
        raise CommandError(f"The text has {len(formats)} formats, but {len(expressions)} expressions follow.")
    for expression in expressions:
        message = re.sub(r"%[-+ #0-9.]*l*[a-zA-Z]", lambda _, e=expression: "{" + e + "}", message, count=1)  # type: ignore[misc]
    return message.replace("%%", "%")


def split_at_commas(text: str) -> list[str]:
    """The parts of a text between commas that stand in no brackets and no quotes."""
    parts, depth, begin, quote, escaped = [], 0, 0, "", False
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
            continue
        quote = character if character in "\"'" else ""
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [*parts, text[begin:].strip()]


def _with_newest(debugger: Debugger, argument: str) -> str:
    """An argument with a number for $bpnum, the newest breakpoint."""
    last = debugger.breakpoints.last
    return argument if last is None else re.sub(r"\$bpnum\b", str(last.number), argument)


def numbers_of(debugger: Debugger, argument: str) -> list[int]:
    """The numbers of breakpoints in a text such as "1 3-5".

    :raises CommandError: for words that are none, and for breakpoints that do not exist
    """
    result: list[int] = []
    for word in _with_newest(debugger, argument).replace(",", " ").split():
        match = re.fullmatch(r"(\d+)(?:(?:-|\.\.)(\d+))?", word)
        if not match:
            raise CommandError(f'Bad breakpoint number "{word}".')
        for number in range(int(match[1]), int(match[2] or match[1]) + 1):
            result.append(debugger.breakpoints.find(number).number)
    return result


@command("delete", "d", "del", usage="[NUMBERS]", group="breakpoints", completer=completion.breakpoints)
def _delete(debugger: Debugger, argument: str) -> None:
    """Remove breakpoints, all of them without NUMBERS.

    NUMBERS are such as 2 or 1 4-6. `delete display 1` removes an expression from those on display.
    """
    word, _, rest = argument.partition(" ")
    if word in ("display", "breakpoints", "breakpoint"):
        if word == "display":
            debugger.execute(f"undisplay {rest}")
            return
        argument = rest.strip()
    numbers = numbers_of(debugger, argument)
    if not argument:
        numbers = [one.number for one in debugger.breakpoints.visible()]
        if not numbers or not debugger.console.agrees("Delete all breakpoints?"):
            return
    debugger.send_breakpoints(debugger.breakpoints.remove(numbers))


@command("clear", "cl", usage="[LOCATION]", group="breakpoints", completer=completion.locations)
def _clear(debugger: Debugger, argument: str) -> None:
    """Remove the breakpoints at a line or function."""
    location = location_of(debugger, argument)
    numbers = [
        one.number
        for one in debugger.breakpoints.visible()
        if (location.function and one.function == location.function)
        or (
            not location.function
            and one.path == location.path
            and location.line in (one.line, one.actual_line)
        )
    ]
    if not numbers:
        raise CommandError(f"No breakpoint at {location.text}.")
    debugger.send_breakpoints(debugger.breakpoints.remove(numbers))
    several = "s" if len(numbers) > 1 else ""
    debugger.console.write(f"Deleted breakpoint{several} {' '.join(map(str, numbers))}")


def _enable_or_disable(debugger: Debugger, argument: str, enabled: bool) -> None:
    word, _, rest = argument.partition(" ")
    if word == "display":
        numbers = [int(number) for number in rest.split() if number.isdigit()]
        for display in debugger.displays:
            if not numbers or display.number in numbers:
                display.enabled = enabled
        return
    if word in ("breakpoints", "breakpoint"):
        argument = rest
    chosen = [debugger.breakpoints.find(number) for number in numbers_of(debugger, argument)]
    for one in chosen if argument.strip() else debugger.breakpoints.visible():
        one.enabled, one.once = enabled, False
        debugger.send_breakpoints({one.key})


@command(
    "enable", "en", usage="[once|delete] [NUMBERS]", group="breakpoints", completer=completion.breakpoints
)
def _enable(debugger: Debugger, argument: str) -> None:
    """Let breakpoints stop the program again, all of them without NUMBERS.

    `enable once 2` disables breakpoint 2 when it has stopped the program, `enable delete 2` removes it then.
    """
    word, _, rest = argument.removeprefix("breakpoints ").partition(" ")
    if word not in ("once", "delete"):
        _enable_or_disable(debugger, argument, True)
        return
    numbers = numbers_of(debugger, rest)
    if not numbers:
        raise CommandError(f"The number of a breakpoint is missing: enable {word} N.")
    for one in map(debugger.breakpoints.find, numbers):
        if word == "delete":
            _refuse_call(one)
        one.enabled, one.once, one.temporary = True, word == "once", word == "delete"
        debugger.send_breakpoints({one.key})


@command("disable", "dis", "disa", usage="[NUMBERS]", group="breakpoints", completer=completion.breakpoints)
def _disable(debugger: Debugger, argument: str) -> None:
    """Keep breakpoints, but do not stop at them; all of them without NUMBERS."""
    _enable_or_disable(debugger, argument, False)


def _first_number(debugger: Debugger, argument: str) -> tuple[Breakpoint, str]:
    word, _, rest = argument.partition(" ")
    if not word:
        raise CommandError("The number of a breakpoint is missing.")
    word = _with_newest(debugger, word)
    if not word.isdigit():
        raise CommandError(f'Bad breakpoint number "{word}".')
    return debugger.breakpoints.find(int(word)), rest.strip()


def _refuse_call(one: Breakpoint) -> None:
    if one.is_call:
        raise CommandError(
            f"Breakpoint {one.number} is a call of breakpoint(), which stops always; disable {one.number} silences it."
        )


@command("condition", "cond", usage="N [CONDITION]", group="breakpoints", completer=completion.breakpoints)
def _condition(debugger: Debugger, argument: str) -> None:
    """Make breakpoint N stop only where CONDITION is true; without one it stops always."""
    one, condition = _first_number(debugger, argument)
    _refuse_call(one)
    before, one.condition = one.condition, re.sub(r"^if\s+", "", condition)
    debugger.send_breakpoints({one.key})
    if one.is_refused:
        problem, one.condition = one.problem, before
        debugger.send_breakpoints({one.key})
        raise CommandError(f"Breakpoint {one.number} stays as it was: {problem}.")
    if not condition:
        debugger.console.write(f"Breakpoint {one.number} now unconditional.")
    elif one.problem:
        debugger.console.write(f"Breakpoint {one.number} cannot stop the program: {one.problem}")


@command("catch", usage="[KIND... | all | none]", group="breakpoints")
def _catch(debugger: Debugger, argument: str) -> None:
    """Stop at errors of these kinds only, or at all, or at none; without an argument, say at which.

    A kind is what reports and docs/findings.md call it, for example out-of-bounds-index or integer-division. At first
    all errors stop the program, as after `catch all`. Warnings stop it where their kind is named: negative-index,
    float-division, barrier-early-exit and divergent-lanes.
    """
    setting, words = debugger.settings["break_on_errors"], argument.replace(",", " ").split()
    if words in (["all"], ["none"]):
        setting.value, debugger.caught = ("on" if words == ["all"] else "off"), []
    elif words:
        debugger.caught = list(dict.fromkeys(words))
    if words:
        debugger.send_filters()
    if debugger.caught:
        debugger.console.write(f"Errors that stop the program: {', '.join(debugger.caught)}.")
    elif not words:
        debugger.console.write(f"Errors that stop the program: {'all' if setting.value == 'on' else 'none'}.")


@command("ignore", usage="N COUNT", group="breakpoints", completer=completion.breakpoints)
def _ignore(debugger: Debugger, argument: str) -> None:
    """Pass breakpoint N COUNT times before it stops the program.

    All threads that come to it are counted together.
    """
    one, count = _first_number(debugger, argument)
    _refuse_call(one)
    if not count.isdigit():
        raise CommandError("A count is missing: ignore N COUNT." if not count else f'"{count}" is no count.')
    one.ignore = int(count)
    debugger.send_breakpoints({one.key})
    if one.ignore:
        times = "crossing" if one.ignore == 1 else f"{one.ignore} crossings"
        debugger.console.write(f"Will ignore the next {times} of breakpoint {one.number}.")
    else:
        debugger.console.write(f"Will stop the next time that breakpoint {one.number} is reached.")


@command("commands", usage="[N]", group="breakpoints", completer=completion.breakpoints)
def _commands(debugger: Debugger, argument: str) -> None:
    """Set the commands that run when breakpoint N stops the program; the newest breakpoint without N.

    They follow line by line, and `end` ends them. Where `silent` is the first, the stop itself is not told.
    """
    if argument:
        chosen = [debugger.breakpoints.find(number) for number in numbers_of(debugger, argument)]
    elif debugger.breakpoints.last is not None:
        chosen = [debugger.breakpoints.last]
    else:
        raise CommandError("No breakpoints.")
    if debugger.console.interactive:
        numbers = " ".join(str(one.number) for one in chosen)
        debugger.console.write(
            f"Type commands for breakpoint {numbers}, one on each line; end them with a line that says end."
        )
    lines = debugger.read_block()
    for one in chosen:
        one.commands = list(lines)
