"""The table of commands. A command is a function; its docstring is its help, the first line of it in one sentence.

@command("break", "b", usage="[LOCATION] [if CONDITION]", group="breakpoints")
def _break(debugger, argument): ...
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cudasim.debugger_client.debugger import Debugger

    Handler = Callable[[Debugger, str], None]
    #: Gives what the last word may become.
    Completer = Callable[[Debugger, str], list[str]]

#: The groups of `help`, with a sentence for each.
GROUPS = {
    "running": "Starting the program, and moving threads.",
    "breakpoints": "Where the program stops.",
    "threads": "Which simulated thread is in focus, and what the others do.",
    "stack": "The functions that the thread in focus is in.",
    "data": "Variables, expressions and memory.",
    "source": "The text of the program.",
    "support": "The debugger itself.",
}
_WORD = re.compile(r"\s*([A-Za-z_][\w-]*|!|\S+)")


@dataclasses.dataclass
class Command:
    """One command."""

    name: str
    aliases: tuple[str, ...]
    usage: str
    group: str
    handler: Handler
    repeats: bool
    completer: Completer | None
    sub_table: Table | None = None

    @property
    def summary(self) -> str:
        """Its help in one line."""
        return inspect.cleandoc(self.handler.__doc__ or "").split("\n", 1)[0]

    @property
    def help(self) -> str:
        """Its whole help."""
        return inspect.cleandoc(self.handler.__doc__ or "")


class Table:
    """Commands by their names, or the words that may follow one.

    :param parent: the word before, with a blank: "info "
    """

    def __init__(self, parent: str = "") -> None:
        self.parent = parent
        self.commands: dict[str, Command] = {}
        self._by_word: dict[str, Command] = {}

    def command(
        self, name: str, *aliases: str, usage: str = "", group: str = "", repeats: bool = False,
        completer: Completer | None = None, sub_table: Table | None = None,
    ) -> Callable[[Handler], Handler]:  # fmt: skip
        """Makes a function a command.

        :param aliases: other words for it; short ones that are prefixes of several commands belong to this one
        :param usage: what follows the name
        :param repeats: whether an empty line runs it again
        """

        def add(handler: Handler) -> Handler:
            added = Command(name, aliases, usage, group, handler, repeats, completer, sub_table)
            self.commands[name] = added
            for word in (name, *aliases):
                assert word not in self._by_word, f"two commands are called {word}"
                self._by_word[word] = added
            return handler

        return add

    def matching(self, prefix: str) -> list[str]:
        """The names and aliases that begin so, sorted."""
        return sorted(word for word in self._by_word if word.startswith(prefix))

    def is_word(self, word: str) -> bool:
        """Whether a word is a command's name or alias, in full."""
        return word in self._by_word

    def find(self, word: str) -> Command:
        """The command of a word, or of the beginning of one.

        :raises CommandError: where there is none, or several
        """
        if word in self._by_word:
            return self._by_word[word]
        matching = self.matching(word)
        found = {self._by_word[one].name: self._by_word[one] for one in matching}
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise CommandError(f'Ambiguous command "{self.parent}{word}": {", ".join(sorted(found))}.')
        near = difflib.get_close_matches(word, list(self._by_word), 1, 0.7)
        suggestion = f'  Did you mean "{self.parent}{near[0]}"?' if near else ""
        kind = f"{self.parent}command"
        raise CommandError(
            f'Undefined {kind}: "{word}".  Try "help{" " if self.parent else ""}{self.parent.strip()}".{suggestion}'
        )

    def dispatch(self, debugger: Debugger, argument: str) -> None:
        """Runs the command that the argument's first word names."""
        word, rest = split_word(argument)
        if not word:
            raise CommandError(
                f'"{self.parent.strip()}" must be followed by one of: {", ".join(sorted(self.commands))}.'
            )
        self.find(word).handler(debugger, rest)


def split_word(line: str) -> tuple[str, str]:
    """A line's first word and the rest: ("print", "/x i") of "print/x i", ("x", "/4xw a") of "x/4xw a"."""
    found = _WORD.match(line)
    if not found:
        return "", ""
    return found[1], line[found.end() :].strip()


#: All commands.
TABLE = Table()
command = TABLE.command
