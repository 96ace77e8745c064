"""The switch of the full-screen view, as commands and the main loop see it. textual is imported when the view is switched on."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.tui.program_terminal import ProgramTerminal
from cudasim.debugger_client.tui.view import View, ViewEnded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from cudasim.debugger_client.debugger import Debugger, ReadLine
    from cudasim.debugger_client.terminal_control import TerminalControl
    from cudasim.debugger_client.tui.app import Running

#: What to install where textual is missing.
EXTRA = 'pip install "cudasim[debugger]"'
_PLAIN = "The plain prompt goes on."


class Screen:
    """The full-screen view of one debugger; it is off in the beginning.

    :param signals: the user's terminal, where programs may be started on it
    :param start: starts the application; without it app.start() does
    """

    def __init__(
        self,
        debugger: Debugger,
        signals: TerminalControl | None = None,
        start: Callable[[View], Running] | None = None,
    ) -> None:
        self._debugger = debugger
        self._start = start
        self._signals = signals
        self._view: View | None = None
        self._running: Running | None = None
        self._program: ProgramTerminal | None = None

    @property
    def is_on(self) -> bool:
        """Whether the view is shown."""
        return self._running is not None

    def enable(self) -> None:
        """Fills the screen.

        :raises CommandError: where that is not possible, with what to do
        """
        if self.is_on:
            return
        if not self._debugger.console.interactive:
            raise CommandError(
                f"The full-screen view needs a terminal for input and output, no -batch, and textual ({EXTRA}). {_PLAIN}"
            )
        if os.environ.get("TERM", "dumb") in ("dumb", ""):
            raise CommandError(
                f"The full-screen view needs a terminal that can be drawn on, and textual ({EXTRA}); TERM says dumb. {_PLAIN}"
            )
        try:
            from cudasim.debugger_client.tui import app  # textual may be absent, and takes long to import
        except ImportError as error:
            raise CommandError(
                f"The full-screen view needs textual: {EXTRA} (Python says: {error}). {_PLAIN}"
            ) from None
        console = self._debugger.console
        console.flush()
        self._view = self._view or View(self._debugger)
        self._view.program = self._program
        self._view.suspends = self.suspend
        try:
            self._running = (self._start or app.start)(self._view)
        except Exception as error:
            raise CommandError(f"The full-screen view cannot be shown: {error}.") from None
        console.front = self

    def disable(self) -> None:
        """The plain prompt is there again."""
        if self._running is None:
            return
        running, self._running = self._running, None
        self._debugger.console.front = None
        running.stop()

    def close(self) -> None:
        """The debugger ends."""
        self.disable()

    def close_program(self) -> None:
        """The program's pseudo-terminal is not needed any more."""
        if self._program is not None:
            program, self._program = self._program, None
            program.close()

    def abandon(self) -> None:
        """The process is about to end: the terminal is restored at once, from any thread."""
        if self._running is not None:
            self._running.driver.leave()

    # What reads and shows

    def reader(self, plain: Callable[[], ReadLine]) -> ReadLine:
        """What reads the next line for a prompt, from the view where that is on. :param plain: makes what reads it elsewhere"""
        made: list[ReadLine] = []

        def read(prompt: str) -> str | None:
            if self.is_on and self._view is not None:
                try:
                    return self._view.read(prompt)
                except ViewEnded as ended:
                    self._has_ended(str(ended))
            line = self._view.left_over() if self._view is not None else None
            if line is not None:
                self._debugger.console.write(f"{prompt}{line}")
                return line
            if not made:
                made.append(plain())
            return made[0](prompt)

        return read

    def write(self, text: str) -> None:
        """Shows an answer."""
        assert self._view is not None
        self._view.write(text)

    def error(self, text: str) -> None:
        """Shows what went wrong."""
        assert self._view is not None
        self._view.error(text)

    def answer(self, question: str, at_the_end: str) -> str:
        """Asks the user."""
        assert self._view is not None
        try:
            return self._view.answer(question, at_the_end)
        except ViewEnded as ended:
            self._has_ended(str(ended))
            raise CommandError("Quit") from None

    def _has_ended(self, why: str) -> None:
        self.disable()
        self._debugger.console.error(f"The full-screen view has ended ({why}); the plain prompt goes on.")

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal is another program's for a while."""
        self.leave()
        try:
            yield
            if self.is_on:
                with contextlib.suppress(EOFError, KeyboardInterrupt):
                    sys.__stdout__.write("[Press Enter to return to the debugger] ")  # type: ignore[union-attr]
                    sys.__stdout__.flush()  # type: ignore[union-attr]
                    os.read(0, 1024)
        finally:
            self.enter()

    # Who has the terminal

    def leave(self) -> None:
        """Somebody else has the terminal."""
        if self._running is not None:
            self._running.driver.leave()

    def enter(self) -> None:
        """The view has the terminal again."""
        if self._running is not None:
            self._running.driver.enter()

    def suspend(self) -> None:
        """Stops the debugger until the shell lets it go on, as Ctrl-Z does."""
        self.leave()
        os.kill(0, signal.SIGTSTP)
        time.sleep(0.05)  # another thread may be the one that is stopped
        self.enter()

    def program_terminal(self) -> ProgramTerminal | None:
        """The terminal of a program that is started now: a new one of its own where the view is on, else None."""
        self.close_program()
        if self._view is not None:
            self._view.program = None
        if not self.is_on or self._view is None or self._running is None:
            return None
        self._program = self._view.program = ProgramTerminal(self)
        self._program.resize(*self._running.size_of_output())
        return self._program

    def signals_for_program(self) -> AbstractContextManager[None]:
        """Programs that are started inside have the default reaction to SIGTTOU."""
        return contextlib.nullcontext() if self._signals is None else self._signals.signals_for_program()

    def program_wrote(self, text: str) -> None:
        """Shows what the program has written to its pseudo-terminal."""
        if self.is_on and self._view is not None:
            self._view.program_wrote(text)
        else:
            os.write(1, text.encode(errors="replace"))

    def take_typed(self, text: str) -> None:
        """What was typed for the program, which has not read it, is typed for the debugger."""
        if self.is_on and self._view is not None:
            self._view.take_typed(text)
