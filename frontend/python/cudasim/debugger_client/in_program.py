"""The client that a program starts for itself (CUDASIM_DEBUGGER=cudasim): a process beside it, in the same job of the same terminal.

Nothing is shown before the program stops for the first time. While it runs it has the terminal; at a stop it holds, and the client reads.
Both are one job, so the shell's Ctrl-Z and `fg` are about both, and Ctrl-C reaches both: the client ignores it while the program runs. Where
standard input is no terminal commands are read from it, a line at a time, and the rest stays the program's, as with pdb; at its end the
program goes on without the debugger.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import termios
from typing import TYPE_CHECKING

from cudasim.debugger_client import commands, prompt
from cudasim.debugger_client.attached import Attached
from cudasim.debugger_client.console import Console
from cudasim.debugger_client.debugger import Debugger
from cudasim.debugger_client.errors import CommandError, QuitDebugger
from cudasim.debugger_client.tui.screen import Screen

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.debugger import ReadLine

assert commands.TABLE.commands  # Importing them has filled the table.


class _Program(Attached):
    """The program that has started this process."""

    def __init__(self, connected: socket.socket, process: int, has_terminal: bool) -> None:
        self._own_settings = _sane(termios.tcgetattr(0)) if has_terminal else None
        self._programs_settings: Any = None
        self._at_prompt = False
        self.screen: Screen | None = None
        super().__init__(connected, process)
        self.run_in_foreground()

    def run_in_foreground(self) -> None:
        """Ctrl-C is the program's, and the terminal's settings are its own."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._at_prompt = False
        if self.screen is not None:
            self.screen.leave()
        if self._programs_settings is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._programs_settings)

    def leave_foreground(self) -> None:
        """Ctrl-C is the client's."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._own_settings is not None:
            self._programs_settings = termios.tcgetattr(0)
            self.restore()
        if self.screen is not None:
            self.screen.enter()
        self._at_prompt = True

    def release(self) -> None:
        """Lets it go on without the debugger."""
        self._at_prompt = False
        super().release()

    def end(self) -> None:
        """Ends it."""
        self._at_prompt = False
        super().end()

    def restore(self) -> None:
        """The terminal is as it was when the program began."""
        if self._own_settings is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._own_settings)

    def lost(self) -> None:
        """The program has gone. Where a prompt is open nobody else would notice."""
        if self._at_prompt:
            try:
                if self.screen is not None:
                    self.screen.abandon()
                self.restore()
                os.write(2, b"\n[The program has ended]\n")
            finally:
                os._exit(0)


def main() -> int:
    """Serves the program that has started this process, until it ends or is let go. The arguments are the number of a connected
    socket, that of the program's process, and its name."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connected, process, name = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    if has_terminal:
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        if not sys.stdout.isatty():  # what is typed is answered where it is typed
            sys.stdout = open(os.ttyname(0), "w")  # noqa: SIM115 - for the life of the process
    program = _Program(connected, process, has_terminal)
    debugger = Debugger([name], Console(has_terminal), _refuse_to_start)
    try:
        _serve(debugger, program, has_terminal)
    finally:
        if program.screen is not None:
            program.screen.close()
        program.restore()
        debugger.console.flush()
    return 0


def _refuse_to_start(command: list[str], environment: dict[str, str]) -> Any:
    raise CommandError("The program has started the debugger; end it and start it again yourself.")


def _serve(debugger: Debugger, program: _Program, has_terminal: bool) -> None:
    debugger.ends_program = True
    debugger.tells_end = False  # The shell, or whatever has started the program, does.
    debugger.begin(program)
    if not debugger.is_running:
        return
    read: ReadLine = _line_of_input
    if has_terminal:
        screen = debugger.screen = program.screen = Screen(debugger)
        read = screen.reader(lambda: prompt.reader(debugger, has_terminal))
    try:
        debugger.interact(read, while_running=True)
    except QuitDebugger:
        debugger.kill()
        return
    if not debugger.is_running:
        return
    if has_terminal:  # Ctrl-D
        debugger.kill()
    else:
        debugger.console.write("[No more commands; the program goes on without the debugger]")
        debugger.detach()


def _sane(settings: list[Any]) -> list[Any]:
    """Settings with which lines can be typed; the program may have changed them already."""
    settings[0] |= termios.ICRNL
    settings[1] |= termios.OPOST
    if not settings[3] & termios.ICANON:
        settings[3] |= termios.ICANON | termios.ECHO
    settings[3] |= termios.ISIG
    return settings


def _line_of_input(prompt_text: str) -> str | None:
    """The next line of standard input, and nothing behind it, which is the program's."""
    sys.stdout.write(prompt_text)
    sys.stdout.flush()
    line = bytearray()
    try:
        while (byte := os.read(0, 1)) not in (b"", b"\n"):
            line += byte
    except OSError:  # there is no standard input
        byte = b""
    if not byte and not line:
        sys.stdout.write("\n")
        return None
    return line.decode(errors="replace")
