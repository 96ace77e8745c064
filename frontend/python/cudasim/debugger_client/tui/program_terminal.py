"""The pseudo-terminal of a program that was started from the full-screen view: what it writes goes to the view's output, and what is typed
while it runs goes to it. Where the view has been switched off since, both go to and come from the user's terminal.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import threading
import tty
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cudasim.debugger_client.tui.screen import Screen

#: Makes standard input the terminal that the process is controlled by, then runs the program. It is a
#: program of its own because nothing may run between fork and exec in a process with threads.
_CONTROLLED = (
    "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"
)


class ProgramTerminal:
    """One pseudo-terminal, in the place of a TerminalControl. It lives until the next program is started."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._master, slave = pty.openpty()
        name = os.ttyname(slave)
        # What a program has not read when it stops is taken back through this one.
        self._unread = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._slave: int | None = slave
        self._lock = threading.Lock()  # held while what was read is handed on
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._wake_read, self._wake_write = os.pipe()
        self._is_open = True
        self.given = False
        self._relay: _Relay | None = None
        self._reader = threading.Thread(
            target=self._read, name="cudasim debug: program's output", daemon=True
        )
        self._reader.start()

    def start_arguments(self, command: list[str], own_input: bool) -> tuple[list[str], dict[str, Any]]:
        """What starts a program on this terminal: its command, and what subprocess.Popen gets with it."""
        assert self._slave is not None
        stub = [sys.executable, "-I", "-S", "-E", "-c", _CONTROLLED]
        streams = {"stdin": self._slave, "stdout": self._slave, "stderr": self._slave}
        return [*stub, *command], {**streams, "start_new_session": True}

    #: The program knows how to clear lines, and nothing else: the output is no whole terminal.
    environment = {"TERM": "dumb"}

    @contextlib.contextmanager
    def signals_for_program(self) -> Iterator[None]:
        """Programs that are started inside have the default reaction to SIGTTOU, which they would inherit."""
        with self._screen.signals_for_program():
            yield
        if self._slave is not None:
            os.close(self._slave)
            self._slave = None

    def give_to(self, group: int) -> None:
        """What is typed is the program's."""
        if self.given:
            return
        self.given = True
        if not self._screen.is_on and self._is_open:
            self._relay = _Relay(self)

    def take_back(self, programs_end: bool = False) -> None:
        """What is typed is the debugger's; so is what was typed and not read. All that the program has written is shown."""
        if not self.given:
            return
        self.given = False
        if self._relay is not None:
            self._relay.end()
            self._relay = None
        self.drain()
        with contextlib.suppress(OSError, termios.error):
            if termios.tcgetattr(self._unread)[3] & termios.ICANON:
                self._screen.take_typed(os.read(self._unread, 1 << 16).decode(errors="replace"))

    def suspend_client(self) -> None:
        """The client stops until the shell lets it go on; the program has its own terminal."""
        self._screen.suspend()

    def type(self, keys: str) -> None:
        """Sends keys to the program. What does not fit, because it does not read, is lost as on every terminal."""
        with contextlib.suppress(OSError):
            os.write(self._master, keys.encode())

    @property
    def echoes(self) -> bool:
        """Whether what is typed is shown; not while a password is asked for."""
        try:
            return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)
        except (OSError, termios.error):
            return True

    def resize(self, columns: int, lines: int) -> None:
        """Says how large the output is."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def drain(self) -> None:
        """Hands on all that the program has written until now."""
        while self._hand_on(0):
            pass

    def close(self) -> None:
        """Ends the terminal; programs that still have it lose it."""
        self.drain()
        self._is_open = False
        os.write(self._wake_write, b"x")
        self._reader.join(5)
        for descriptor in (self._master, self._unread, self._wake_read, self._wake_write):
            os.close(descriptor)

    def _read(self) -> None:
        while self._is_open:
            ready, _, _ = select.select([self._master, self._wake_read], [], [])
            if self._wake_read in ready or not self._hand_on(0, at_end=False):
                return

    def _hand_on(self, seconds: float, at_end: bool = True) -> bool:
        """Hands on one piece. False: there is none (at_end), or there will be none any more."""
        with self._lock:
            ready, _, _ = select.select([self._master], [], [], seconds)
            if not ready:
                return not at_end
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:  # The program was the last that had it.
                return False
            self._screen.program_wrote(self._decoder.decode(data))
            return bool(data)


class _Relay:
    """Copies what is typed at the user's terminal to the program, key by key, as long as the program runs."""

    def __init__(self, terminal: ProgramTerminal) -> None:
        self._terminal = terminal
        self._wake_read, self._wake_write = os.pipe()
        self._before = termios.tcgetattr(0)
        tty.setraw(0, termios.TCSADRAIN)
        self._settings(lambda settings: settings[1] | termios.OPOST)
        self._thread = threading.Thread(target=self._copy, name="cudasim debug: keys", daemon=True)
        self._thread.start()

    def _settings(self, output: Any) -> None:
        settings = termios.tcgetattr(0)
        settings[1] = output(settings)
        termios.tcsetattr(0, termios.TCSADRAIN, settings)

    def _copy(self) -> None:
        while True:
            ready, _, _ = select.select([0, self._wake_read], [], [])
            if self._wake_read in ready:
                return
            try:
                keys = os.read(0, 4096)
            except OSError:
                return
            if not keys:
                return
            if b"\x03" in keys:  # also where the program has no terminal that makes a signal of it
                os.kill(os.getpid(), signal.SIGINT)
                keys = keys.replace(b"\x03", b"")
            self._terminal.type(keys.decode(errors="replace"))

    def end(self) -> None:
        """The user's terminal is the debugger's."""
        os.write(self._wake_write, b"x")
        self._thread.join(5)
        os.close(self._wake_read)
        os.close(self._wake_write)
        termios.tcsetattr(0, termios.TCSADRAIN, self._before)
