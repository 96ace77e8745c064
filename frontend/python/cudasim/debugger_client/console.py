"""What the debugger writes, and the questions that it asks."""

from __future__ import annotations

import contextlib
import shutil
import sys
from typing import TYPE_CHECKING, Protocol

from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import TextIO


class Front(Protocol):
    """What shows texts, and asks, in the place of the streams: the full-screen view."""

    def write(self, text: str) -> None:
        """Shows an answer."""

    def error(self, text: str) -> None:
        """Shows what went wrong; the text ends with its line."""

    def answer(self, question: str, at_the_end: str) -> str:
        """What is typed, in small letters; the second text where input has ended."""

    def lent(self) -> AbstractContextManager[None]:
        """The terminal is another program's for a while."""


class Console:
    """Two streams: one for answers, one for what went wrong.

    :param interactive: whether somebody sits at a terminal, who can be asked
    """

    def __init__(self, interactive: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.interactive = interactive
        self.front: Front | None = None
        self.pagination: Callable[[], bool] = lambda: True
        self.confirms: Callable[[], bool] = lambda: True
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._lines = 0

    def write(self, text: str, end: str = "\n") -> None:
        """Shows a text; a long one waits after each screen."""
        if self.front is not None:
            self.front.write(text + end)
            return
        if not (self.interactive and self.pagination()):
            self._put(text + end)
            return
        screen = max(shutil.get_terminal_size().lines, 3)
        for line in (text + end).splitlines(keepends=True):
            if self._lines >= screen - 1:
                self.flush()
                if _answer("--Type <RET> for more, q to quit--", "q").startswith("q"):
                    raise CommandError("Quit")
                self._lines = 0
            self._put(line)
            self._lines += 1

    def new_screen(self) -> None:
        """The next line is the first on the screen, because the user has typed something."""
        self._lines = 0

    def error(self, text: str) -> None:
        """Shows what went wrong, after all that was written before."""
        if self.front is not None:
            self.front.error(text + "\n")
            return
        self.flush()
        self._err.write(text + "\n")
        self._err.flush()

    def flush(self) -> None:
        """Everything written is on its way, so that the program's own output comes after it."""
        self._out.flush()

    def agrees(self, question: str) -> bool:
        """Whether the answer is yes. Where nobody can be asked, or wants to be, it is."""
        if not (self.interactive and self.confirms()):
            return True
        while True:
            self.flush()
            ask = _answer if self.front is None else self.front.answer
            answer = ask(f"{question} (y or n) ", "y")
            if answer in ("y", "yes"):
                return True
            if answer in ("n", "no"):
                return False
            self.write("Please answer y or n.")

    def lent(self) -> AbstractContextManager[None]:
        """The terminal is another program's for a while."""
        self.flush()
        return contextlib.nullcontext() if self.front is None else self.front.lent()

    def _put(self, text: str) -> None:
        self._out.write(text)


def _answer(question: str, at_the_end: str) -> str:
    """What is typed, in small letters; the second text where input has ended."""
    try:
        return input(question).strip().lower()
    except EOFError:
        print()
        return at_the_end
