"""What a line that is being typed could become. Prompts and the command `complete` use it."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.locations import current_place

if TYPE_CHECKING:
    from cudasim.debugger_client.commands.table import Table
    from cudasim.debugger_client.debugger import Debugger


def candidates(debugger: Debugger, line: str) -> tuple[int, list[str]]:
    """(where the last word begins, the words that it could become)."""
    from cudasim.debugger_client.commands.table import TABLE  # a circle: commands name their completers

    return _in_table(debugger, TABLE, line, 0)


def lines(debugger: Debugger, line: str) -> list[str]:
    """Whole lines that a line could become."""
    begin, words = candidates(debugger, line)
    return [line[:begin] + word for word in words]


def _in_table(debugger: Debugger, table: Table, line: str, begin: int) -> tuple[int, list[str]]:
    while line[begin : begin + 1].isspace():
        begin += 1
    match = re.compile(r"[A-Za-z_][\w-]*|!").match(line, begin)
    end = match.end() if match else begin
    if end == len(line):
        typed = line[begin:]
        words = [name for name in table.commands if name.startswith(typed)]
        if not table.parent:
            words += [name for name in debugger.aliases if name.startswith(typed)]
        return begin, sorted(words)
    try:
        found = table.find(line[begin:end])
    except CommandError:
        return len(line), []
    if found.sub_table is not None:
        return _in_table(debugger, found.sub_table, line, end)
    if found.completer is None:
        return len(line), []
    if found.completer is settings:
        return _settings(debugger, line, end)
    word = re.search(r"\$?[\w.:/~-]*$", line)
    at = max(word.start() if word else len(line), end)
    typed = line[at:]
    return at, sorted({one for one in found.completer(debugger, typed) if one.startswith(typed)})


def commands(debugger: Debugger, typed: str) -> list[str]:
    """Names of commands."""
    from cudasim.debugger_client.commands.table import TABLE  # a circle: commands name their completers

    return [*TABLE.commands, *debugger.aliases]


def files(debugger: Debugger, typed: str) -> list[str]:
    """Names of files and folders."""
    found = glob.glob(glob.escape(os.path.expanduser(typed)) + "*")
    return [one + "/" if os.path.isdir(one) else one for one in found]


def locations(debugger: Debugger, typed: str) -> list[str]:
    """Functions of the current file, and files of Python code."""
    path, _ = current_place(debugger)
    names = [name for _, name in debugger.sources.functions(path)] if path else []
    return names + [f"{one}:" for one in files(debugger, typed) if one.endswith(".py")]


def breakpoints(debugger: Debugger, typed: str) -> list[str]:
    """Numbers of breakpoints."""
    return [str(one.number) for one in debugger.breakpoints.visible()]


def expressions(debugger: Debugger, typed: str) -> list[str]:
    """What an expression may go on with: variables of the selected function, members of them, special registers, device functions."""
    if typed.startswith("$"):
        return [f"${name}" for name in debugger.history.named]
    if debugger.session.focus is None:
        return []
    try:
        arguments = {"text": typed, "column": len(typed) + 1, **debugger.session.frame_arguments()}
        targets = debugger.session.request("completions", arguments).get("targets") or []
    except CommandError:
        return []
    whole = typed[: typed.rfind(".") + 1]
    return [whole + str(one.get("label")) for one in targets]


def settings(debugger: Debugger, typed: str) -> list[str]:
    """Names of settings; those of two words are one after the other."""
    return list(debugger.settings)


def _settings(debugger: Debugger, line: str, end: int) -> tuple[int, list[str]]:
    rest = line[end:].lstrip()
    begin = len(line) - len(rest)
    for setting in debugger.settings.values():
        if rest.startswith(setting.name + " "):
            typed = rest[len(setting.name) :].lstrip()
            return len(line) - len(typed), [one for one in setting.choices if one.startswith(typed)]
    if re.match(r"var(iable)?\s", rest):
        typed = re.split(r"\s", rest)[-1]
        return len(line) - len(typed), [one for one in expressions(debugger, typed) if one.startswith(typed)]
    names = ["var", *debugger.settings]
    return begin, [name for name in names if name.startswith(rest)]
