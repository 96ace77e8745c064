"""A program that was not started by this client: one that listens for debuggers, or the one that has started the client."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import time
from typing import TYPE_CHECKING

from cudasim import debug_sockets
from cudasim.debugger_client.dap import Connection, ConnectionLost, DapError
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Seconds within which a kernel that runs stops when it is asked to, and a process ends that is asked to.
_TIME_TO_PAUSE, _TIME_TO_END = 0.5, 5.0
#: A launch that runs its usual code is compiled anew, and runs again for up to two seconds, before it stops.
_TIME_TO_BEGIN_AGAIN = 10.0


class _Notices(queue.SimpleQueue):
    """Of a process that cannot be waited for: the end of the connection stands for its end."""

    on_lost: Callable[[], None]

    def put(self, item: tuple[str, Any], block: bool = True, timeout: float | None = None) -> None:
        """Puts a notice; the connection's end is followed by ("exited", None)."""
        super().put(item)
        if item[0] == "lost":
            super().put(("exited", None))
            self.on_lost()


class Attached:
    """A debugged process at the other end of a connected socket; what session.Program asks for."""

    status: int | None = None
    is_attached = True

    def __init__(self, connected: socket.socket, process: int) -> None:
        """:param process: its number"""
        self.process = process
        self.notices: queue.SimpleQueue[tuple[str, Any]] = _Notices()
        self.notices.on_lost = self.lost
        self.connection = Connection(connected, self.notices)

    def lost(self) -> None:
        """Called by the thread that reads when the connection has ended."""

    def run_in_foreground(self) -> None:
        """Nothing: its terminal is another one."""

    def leave_foreground(self) -> None:
        """Nothing: its terminal is another one."""

    def interrupt(self) -> float | None:
        """A kernel that runs stops; returns how many seconds that may take. Where none runs the next one will."""
        body = self.connection.request("pause", {"threadId": 1}) or {}
        runs = body.get("cudasim", {}).get("runs", False)
        return _TIME_TO_BEGIN_AGAIN if runs else _TIME_TO_PAUSE

    def suspend_with(self) -> None:
        """Nothing: nobody is told when it is suspended."""

    def release(self) -> None:
        """Lets it go on without the debugger."""
        with contextlib.suppress(ConnectionLost, DapError):
            self.connection.request("disconnect", {"terminateDebuggee": False})
        self.connection.close()

    def end(self) -> None:
        """Ends it, by force where it does not end by itself. Does nothing after the connection's end."""
        if not self.connection.is_lost:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self.process, number)
                if self._has_gone(_TIME_TO_END):
                    break
        self.connection.close()

    def _has_gone(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self.connection.is_lost and time.monotonic() < until:
            time.sleep(0.01)
        return self.connection.is_lost


def attach(process: int) -> Attached:
    """A process that listens (option `debugger`).

    :raises CommandError: with the reason where that is not possible
    """
    return Attached(connected_to(process), process)


def connected_to(process: int) -> socket.socket:
    """A connection to a process that listens.

    :raises CommandError: with the reason where that is not possible
    """
    try:
        owner = os.stat(f"/proc/{process}").st_uid
    except OSError:
        raise CommandError(f"There is no process {process}.{_others(process)}") from None
    if owner != os.getuid():
        raise CommandError(f"Process {process} belongs to another user.")
    try:
        path = debug_sockets.path_of(process)
    except RuntimeError as error:
        raise CommandError(f"Process {process} cannot be debugged: {error}.") from None
    if path is None:
        raise CommandError(
            f"Process {process} does not wait for a debugger; start it with CUDASIM_DEBUGGER=listen.{_others(process)}"
        )
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.settimeout(_TIME_TO_END)
        connected.connect(path)
        connected.settimeout(None)
    except ConnectionRefusedError:
        connected.close()
        raise CommandError(
            f"Process {process} does not wait for a debugger; an earlier process of that number has left {path}."
        ) from None
    except OSError as error:
        connected.close()
        raise CommandError(
            f"Process {process} does not answer at {path}: {error.strerror or error}."
        ) from None
    return connected


def _others(process):
    found = [str(one) for one in debug_sockets.listening() if one != process]
    return f" These wait for one: {', '.join(found)}." if found else ""
