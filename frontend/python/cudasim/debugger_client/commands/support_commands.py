"""The debugger itself: help, files of commands, aliases, the shell, the end."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion
from cudasim.debugger_client.commands.table import GROUPS, TABLE, Command, Table, command, split_word
from cudasim.debugger_client.errors import CommandError, QuitDebugger

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


@command("help", "h", "?", usage="[COMMAND]", group="support", completer=completion.commands)
def _help(debugger: Debugger, argument: str) -> None:
    """Show all commands, or the help of one.

    `help all` shows every command in one line each, `help info` what may follow info.
    """
    write = debugger.console.write
    if not argument or argument == "all":
        for group, sentence in GROUPS.items():
            write(f"{sentence}")
            for one in TABLE.commands.values():
                if one.group == group:
                    write(f"  {_names(one):<22} {one.summary}")
        write('Type "help COMMAND" for more. Names may be shortened as long as they are unique.')
        return
    word, rest = split_word(argument)
    if word in GROUPS:
        for one in TABLE.commands.values():
            if one.group == word:
                write(f"{_names(one):<22} {one.summary}")
        return
    if word in debugger.aliases:
        write(f"{word} is an alias of {debugger.aliases[word]}.")
        return
    table: Table = TABLE
    found = table.find(word)
    while rest and found.sub_table is not None:
        table = found.sub_table
        word, rest = split_word(rest)
        found = table.find(word)
    write(f"{table.parent}{found.name} {found.usage}".rstrip())
    if found.aliases and not table.parent:
        write("Also: " + ", ".join(found.aliases))
    write(found.help)
    if found.sub_table is not None:
        for one in found.sub_table.commands.values():
            write(f"  {found.sub_table.parent}{one.name:<14} {one.summary}")
    if found.name in ("set", "show") and not table.parent:
        for setting in debugger.settings.values():
            choices = " ".join(setting.choices)
            write(f"  {setting.name:<22} {setting.help}{' [' + choices + ']' if choices else ''}")


def _names(one: Command) -> str:
    """A command's name with its short forms: "break, b"."""
    return ", ".join([one.name, *(alias for alias in one.aliases if len(alias) <= 2)])


@command("quit", "q", "exit", usage="[STATUS]", group="support")
def _quit(debugger: Debugger, argument: str) -> None:
    """End the debugger, and the program where it runs. A program that it has attached to goes on.

    The exit status is STATUS, 0 without it.
    """
    if argument and not argument.isdigit():
        raise CommandError(f'"{argument}" is no exit status.')
    if debugger.is_running and not debugger.console.agrees(debugger.quit_question):
        return
    raise QuitDebugger(int(argument) & 0xFF if argument else None)


@command("source", usage="FILE", group="support", completer=completion.files)
def _source(debugger: Debugger, argument: str) -> None:
    """Run the commands in a file.

    A command that fails ends it.
    """
    if not argument:
        raise CommandError("The name of a file is missing.")
    run_file(debugger, argument)


def run_file(debugger: Debugger, path: str) -> None:
    """Runs the commands in a file, up to the first that fails.

    :raises CommandError: with the line's number
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from None
    if debugger.depth_of_inputs > 50:
        raise CommandError(f"{path}: files of commands are nested too deep.")
    at = 0

    def next_line(prompt: str) -> str | None:
        nonlocal at
        at += 1
        return lines[at - 1] if at <= len(lines) else None

    try:
        debugger.run_lines(next_line, stop_at_error=True)
    except CommandError as error:
        raise CommandError(f"{path}:{at}: {error}") from None


@command("pwd", usage="", group="support")
def _pwd(debugger: Debugger, argument: str) -> None:
    """Show the current folder, in which the program starts and files are looked for."""
    debugger.console.write(f"Working directory {os.getcwd()}.")


@command("cd", usage="[FOLDER]", group="support", completer=completion.files)
def _cd(debugger: Debugger, argument: str) -> None:
    """Go to another folder, the user's own without FOLDER. The program is the same; the next run starts it there."""
    script = debugger.script
    absolute = script[:1] if script[:1] in ([], ["-m"]) else [os.path.abspath(script[0])]
    os.chdir(os.path.expanduser(argument or "~"))
    debugger.script = [*absolute, *script[1:]]
    _pwd(debugger, "")


@command("alias", usage="NAME = COMMAND", group="support", completer=completion.commands)
def _alias(debugger: Debugger, argument: str) -> None:
    """Give a command, with arguments if you like, another name; without an argument show those there are."""
    if not argument:
        for name, meaning in sorted(debugger.aliases.items()):
            debugger.console.write(f"alias {name} = {meaning}")
        return
    argument = re.sub(r"^(-a|--)\s+", "", argument)
    name, equals, meaning = (part.strip() for part in argument.partition("="))
    if not equals or not re.fullmatch(r"[A-Za-z_][\w-]*", name) or not meaning:
        raise CommandError("Write alias NAME = COMMAND.")
    word, _ = split_word(meaning)
    if word not in debugger.aliases:
        TABLE.find(word)
    seen, at = {name}, word
    while at in debugger.aliases or at in seen:
        if at in seen:
            raise CommandError(f"The alias {name} would stand for itself.")
        seen.add(at)
        at, _ = split_word(debugger.aliases[at])
    if TABLE.is_word(name):
        raise CommandError(f"{name} is a command already.")
    debugger.aliases[name] = meaning


@command("echo", usage="TEXT", group="support")
def _echo(debugger: Debugger, argument: str) -> None:
    r"""Show a text. \n is an end of line; there is none otherwise."""
    marks = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', " ": " ", "a": "\a"}
    text = re.sub(r"\\(.)", lambda match: marks.get(match[1], match[1]), argument)
    debugger.console.write(re.sub(r"\\$", "", text), end="")
    debugger.console.flush()


@command("shell", "!", usage="[COMMAND]", group="support")
def _shell(debugger: Debugger, argument: str) -> None:
    """Run a command of the shell, or a shell."""
    with debugger.console.lent():
        subprocess.run(argument or "${SHELL:-/bin/sh}", shell=True, check=False)


@command("complete", usage="TEXT", group="support")
def _complete(debugger: Debugger, argument: str) -> None:
    """Show what a line that begins with TEXT could become."""
    for candidate in completion.lines(debugger, argument):
        debugger.console.write(candidate)
