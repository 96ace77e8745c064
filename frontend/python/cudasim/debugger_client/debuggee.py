"""The debugged program as a process: its start, its connection, and its end.

All that happens is put into one queue of notices: what the connection puts there, ("exited", status) with the status as
subprocess gives it, and ("suspended", signal) when Ctrl-Z or the like has stopped the process.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING

from cudasim.debugger_client.dap import Connection, ConnectionLost, DapError

if TYPE_CHECKING:
    from typing import Any

    from cudasim.debugger_client.terminal_control import TerminalControl
    from cudasim.debugger_client.tui.program_terminal import ProgramTerminal

#: How long what a program sent before its end may take to arrive.
_LAST_WORDS = 2.0


class StartError(Exception):
    """The program could not be started, or ended before it connected."""


class Debuggee:
    """A program that runs under the debugger."""

    is_attached = False

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        terminal: TerminalControl | ProgramTerminal,
        own_input: bool,
    ) -> None:
        """Starts it and waits until it has connected.

        :param command: the interpreter's arguments
        :param environment: added to the client's
        :param own_input: whether it reads the client's standard input; otherwise it reads nothing
        :raises StartError:
        """
        self.notices: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.status: int | None = None
        self._is_suspended = False
        self._terminal = terminal
        self._folder = tempfile.mkdtemp(prefix="cudasim_debug_")
        path = os.path.join(self._folder, "socket")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(path)
            os.chmod(path, 0o600)
            listening.listen(1)
            environment = {**os.environ, **environment, "CUDASIM_DEBUGGER": f"connect:{path}"}
            self._start([sys.executable, *command], environment, own_input)
            self.connection = Connection(self._accepted(listening), self.notices)
        except BaseException:
            self.end()
            raise
        finally:
            listening.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, command: list[str], environment: dict[str, str], own_input: bool) -> None:
        environment = {**environment, **self._terminal.environment}
        command, streams = self._terminal.start_arguments(command, own_input)
        try:
            with self._terminal.signals_for_program():
                self._process = subprocess.Popen(command, env=environment, **streams)
        except OSError as error:
            raise StartError(f"{command[0]} cannot be started: {error.strerror}") from None
        self.run_in_foreground()
        self._waiter = threading.Thread(target=self._wait, name="cudasim debug: waiter", daemon=True)
        self._waiter.start()

    def _accepted(self, listening: socket.socket) -> socket.socket:
        listening.settimeout(0.02)
        while True:
            try:
                connected, _ = listening.accept()
            except TimeoutError:
                if not self._waiter.is_alive():
                    raise StartError(
                        f"The program ended before it connected: {ending(self.status)}."
                    ) from None
                continue
            connected.settimeout(None)
            return connected

    def _wait(self) -> None:
        while True:
            try:
                _, status = os.waitpid(self._process.pid, os.WUNTRACED)
            except ChildProcessError:  # Somebody else has waited for it.
                status = 0
            if os.WIFSTOPPED(status):
                self._is_suspended = True
                self.notices.put(("suspended", os.WSTOPSIG(status)))
                continue
            self.status = os.waitstatus_to_exitcode(status)
            self._process.returncode = self.status
            connection = getattr(self, "connection", None)
            if connection is not None:
                connection.drain(_LAST_WORDS)
            self.notices.put(("exited", self.status))
            return

    def run_in_foreground(self) -> None:
        """Hands the terminal over."""
        self._terminal.give_to(self._process.pid)
        if self._is_suspended:  # Another thread of it has read from the terminal, which it did not have.
            self._is_suspended = False
            self._signal(signal.SIGCONT)

    def leave_foreground(self) -> None:
        """Takes the terminal back."""
        self._terminal.take_back(programs_end=self.status is not None)

    def interrupt(self) -> float | None:
        """What Ctrl-C does where the program has the terminal; None: it stops, or it ends."""
        self._signal(signal.SIGINT)
        return None

    def release(self) -> None:
        """Lets it go on without the debugger; its process stays this one's child."""
        with contextlib.suppress(ConnectionLost, DapError):
            self.connection.request("disconnect", {"terminateDebuggee": False})

    def suspend_with(self) -> None:
        """Suspends the client, as the shell expects of a job, and lets the program go on when the client does."""
        self._terminal.take_back()
        self._terminal.suspend_client()
        self.run_in_foreground()

    def end(self) -> None:
        """Kills the program with all processes that it started, and takes the terminal back. Does nothing after its end."""
        if hasattr(self, "_waiter"):
            if self.status is None:
                self._signal(signal.SIGKILL)
            self._waiter.join(_LAST_WORDS + 5)
        if hasattr(self, "connection"):
            self.connection.close()
        self._terminal.take_back(programs_end=True)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def ending(status: int | None) -> str:
    """How a program ended, in words: "it exited with code 3"."""
    if status is None:
        return "its status is not known"
    if status >= 0:
        return f"it exited with code {status}"
    return f"signal {signal_name(-status)} ended it"


def signal_name(number: int) -> str:
    """The name of a signal, its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
