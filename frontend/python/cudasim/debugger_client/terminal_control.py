"""Who has the terminal. While the program runs it is the terminal's foreground job, so that it reads what is typed and Ctrl-C
goes to it; while it stands the client is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cudasim.debugger_client.tui.screen import Screen


class TerminalControl:
    """The terminal that is standard input; without one nothing happens."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._terminal = _terminal() if descriptor is None else descriptor
        self._group = os.getpgrp()
        self._given = False
        self._own_settings = self._settings()
        self._programs_settings: Any = None
        self.screen: Screen | None = None
        if self.exists:
            # The client writes and takes the terminal back while it is in the background.
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)

    @property
    def exists(self) -> bool:
        """Whether there is a terminal to hand over."""
        return self._terminal is not None

    @property
    def given(self) -> bool:
        """Whether the program has it now."""
        return self._given

    #: Variables that a program on this terminal gets.
    environment: dict[str, str] = {}

    def start_arguments(self, command: list[str], own_input: bool) -> tuple[list[str], dict[str, Any]]:
        """What starts a program here: its command, and what subprocess.Popen gets with it."""
        own_group: dict[str, Any] = (
            {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}
        )
        return command, {"stdin": None if own_input else subprocess.DEVNULL, **own_group}

    def suspend_client(self) -> None:
        """The client stops, as the shell expects of a job, until it is let go on."""
        os.kill(os.getpid(), signal.SIGTSTP)

    @contextlib.contextmanager
    def signals_for_program(self) -> Any:
        """Programs that are started inside have the default reaction to SIGTTOU, which they would inherit."""
        if not self.exists:
            yield
            return
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        try:
            yield
        finally:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)

    def give_to(self, group: int) -> None:
        """The process group has the terminal now, with the settings that it had when it lost it."""
        if self._terminal is None or self._given:
            return
        if self.screen is not None:
            self.screen.leave()
        self._own_settings = self._settings()
        if self._programs_settings is not None:
            self._set(self._programs_settings)
        with contextlib.suppress(OSError):  # The group may have ended already.
            os.tcsetpgrp(self._terminal, group)
        self._given = True

    def take_back(self, programs_end: bool = False) -> None:
        """The client has the terminal again, with its own settings.

        :param programs_end: the program that had it is over, its settings with it
        """
        if self._terminal is None:
            return
        if self._given:
            self._programs_settings = self._settings()
            with contextlib.suppress(OSError):
                os.tcsetpgrp(self._terminal, self._group)
            self._set(self._own_settings)
            self._given = False
            if self.screen is not None:
                self.screen.enter()
        if programs_end:
            self._programs_settings = None

    def _settings(self) -> Any:
        if self._terminal is None:
            return None
        try:
            return termios.tcgetattr(self._terminal)
        except termios.error:  # The terminal has gone away.
            return None

    def _set(self, settings: Any) -> None:
        if settings is not None and self._terminal is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._terminal, termios.TCSADRAIN, settings)


def _terminal() -> int | None:
    """Standard input, where it is a terminal that this process controls."""
    try:
        descriptor = sys.stdin.fileno()
        os.tcgetpgrp(descriptor)
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor
