"""What the full-screen view and the debugger share. The debugger runs commands in the main thread, as without the view; the application
runs in a thread of its own. Lines that are typed come through a queue; the application shows a snapshot and the scrollback.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections import deque
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion
from cudasim.debugger_client.tui.scrollback import ANSWER, COMMAND, ERROR, PROGRAM, Scrollback
from cudasim.debugger_client.tui.snapshot import Collector, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.debugger_client.debugger import Debugger
    from cudasim.debugger_client.tui.program_terminal import ProgramTerminal
    from cudasim.debugger_client.tui.snapshot import Row

#: Seconds after which the end of a program is noticed while a command is awaited.
_NOTICED = 0.2
#: How many keys that are commands wait while one runs.
_WAITING_KEYS = 2
#: What the debugger waits for.
COMMANDS, BLOCK, ANSWERS = "commands", "block", "answers"


class ViewEnded(Exception):
    """The application has ended by itself; the text says why."""


def _interrupt() -> None:
    """What Ctrl-C does on a terminal."""
    os.kill(os.getpid(), signal.SIGINT)


class View:
    """The state that is shown, and the lines that were typed."""

    def __init__(self, debugger: Debugger, interrupts: Callable[[], None] = _interrupt) -> None:
        """:param interrupts: interrupts the command that runs"""
        self.debugger = debugger
        self.scrollback = Scrollback()
        self.snapshot = Snapshot()
        self.prompt = ""
        self.awaits = ""  # what is typed next, nothing while a command runs
        self.program: ProgramTerminal | None = None
        self.on_change: Callable[[], None] = _nothing
        self.suspends: Callable[[], None] = _nothing
        self._interrupts = interrupts
        self._collector = Collector(debugger)
        self._lock = threading.Lock()  # guards `awaits`
        self._items: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._typed: deque[str] = deque()
        self._waiting_keys = 0

    # The application's side

    def submit(self, line: str) -> None:
        """A line that was typed: the program's while it runs, if its terminal is the view's."""
        if self.takes_input:
            assert self.program is not None
            self.program.type(line + "\n")
        else:
            self._items.put(("line", line))

    def press(self, line: str) -> None:
        """A key, or a click, that means a command. While a command runs few of them wait."""
        with self._lock:
            if self.awaits in (BLOCK, ANSWERS) or self._waiting_keys >= _WAITING_KEYS or self.takes_input:
                return
            self._waiting_keys += 1
        self._items.put(("key", line))

    @property
    def takes_input(self) -> bool:
        """Whether what is typed is the program's."""
        return not self.awaits and self.program is not None and self.program.given

    def end_input(self) -> None:
        """Ctrl-D: the end of input."""
        if self.takes_input:
            assert self.program is not None
            self.program.type("\x04")
        elif self.awaits:
            self._items.put(("end", None))

    def interrupt(self) -> None:
        """Ctrl-C: gives up the line that is typed, or interrupts the command that runs: a launch that runs is paused."""
        with self._lock:
            if self.awaits:
                self._items.put(("interrupt", None))
                return
            while not self._items.empty():  # what was to follow is given up, too
                self._items.get()
            self._waiting_keys = 0
            self._interrupts()

    def complete(self, line: str, then: Callable[[int, list[str]], None]) -> bool:
        """Asks what a line could become; returns whether there will be an answer.

        :param then: called with it in the debugger's thread
        """
        if self.awaits != COMMANDS:
            return False

        def ask() -> None:
            try:
                found = completion.candidates(self.debugger, line)
            except Exception:  # whatever it is: the line stays as it was typed
                found = (len(line), [])
            then(*found)

        self._items.put(("call", ask))
        return True

    def turn(self, row: Row) -> None:
        """Opens or closes a row of the variables."""
        if self.awaits == COMMANDS:
            self._items.put(("turn", row))

    def end(self, problem: str) -> None:
        """The application has ended by itself."""
        self._items.put(("ended", problem))

    # The debugger's side

    def read(self, prompt: str) -> str | None:
        """The next line of commands, None at the end of input. Ctrl-C gives up the line that is typed.

        :raises ViewEnded:
        """
        while True:
            try:
                self.scrollback.begin_line()
                line = self._next(prompt, BLOCK if prompt == ">" else COMMANDS)
            except KeyboardInterrupt:
                self.error("Quit\n")
                continue
            self.scrollback.write(f"{self.prompt}{'quit' if line is None else line}\n", COMMAND)
            return line

    def answer(self, question: str, at_the_end: str) -> str:
        """What is typed, in small letters; the second text at the end of input.

        :raises ViewEnded:
        """
        self.scrollback.begin_line()
        line = self._next(question, ANSWERS)
        self.scrollback.write(f"{question}{line or ''}\n", COMMAND)
        return at_the_end if line is None else line.strip().lower()

    def write(self, text: str) -> None:
        """Shows an answer."""
        self.scrollback.write(text, ANSWER)

    def error(self, text: str) -> None:
        """Shows what went wrong."""
        self.scrollback.begin_line()
        self.scrollback.write(text, ERROR)

    def program_wrote(self, text: str) -> None:
        """Shows what the program has written."""
        self.scrollback.write(text, PROGRAM)

    def take_typed(self, text: str) -> None:
        """Lines that were typed and that the program has not read are commands."""
        self._typed.extend(text.splitlines())

    def left_over(self) -> str | None:
        """A line that was typed before the view was switched off; None where there is none."""
        if self._typed:
            return self._typed.popleft()
        while not self._items.empty():
            kind, value = self._items.get()
            if kind == "line":
                return value
        return None

    def refresh(self) -> None:
        """Takes a new snapshot."""
        try:
            self.snapshot = self._collector.taken()
        except Exception as error:  # The session goes on, as after a command that fails.
            self.snapshot = Snapshot(title=f"cannot be shown: {type(error).__name__}: {error}")
        self.on_change()

    def _next(self, prompt: str, what: str) -> str | None:
        if what == COMMANDS:
            self.refresh()
        self.prompt = prompt
        with self._lock:
            self.awaits = what
        self.on_change()
        try:
            while True:
                kind, value = self._typed_before() or self._item(what)
                if kind in ("line", "key", "end"):
                    if kind == "key":
                        with self._lock:
                            self._waiting_keys = max(self._waiting_keys - 1, 0)
                        if what != COMMANDS:  # it was meant for a prompt that is gone
                            continue
                    return value
                if kind == "interrupt":
                    raise KeyboardInterrupt
                if kind == "ended":
                    raise ViewEnded(value)
                if kind == "turn":
                    self._collector.opened.turn(value)
                    self.refresh()
                else:
                    value()
        finally:
            with self._lock:
                self.awaits = ""
            self.on_change()

    def _typed_before(self) -> tuple[str, Any] | None:
        return ("line", self._typed.popleft()) if self._typed else None

    def _item(self, what: str) -> tuple[str, Any]:
        while True:
            with contextlib.suppress(queue.Empty):
                return self._items.get(timeout=_NOTICED)
            program = self.debugger.session.program
            if what == COMMANDS and program is not None and not program.notices.empty():
                self.debugger.notice_end()
                self.prompt = self.debugger.prompt
                self.refresh()


def _nothing() -> None:
    pass
