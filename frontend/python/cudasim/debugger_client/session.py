"""A program under the debugger: its start, its runs from stop to stop, the thread in focus and its frames.

There is one state that matters to commands: a kernel is stopped, or none is. While the program runs nobody asks for
commands, so a run returns when the program has stopped or ended.
"""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Protocol

from cudasim.debugger_client.dap import ConnectionLost, DapError
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import Ended, Focus, Frame, Stop

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.debugger_client.dap import Connection

NOTHING_RUNS = "The program is not being run."
NO_KERNEL = "No kernel is stopped."
#: How long a program that has closed its connection without a word may take to end, in seconds.
_TIME_TO_END = 5.0


class Program(Protocol):
    """What a session needs of the debugged process; debuggee.Debuggee is one."""

    notices: queue.SimpleQueue[tuple[str, Any]]
    connection: Connection
    status: int | None

    def run_in_foreground(self) -> None:
        """Hands the terminal over."""

    def leave_foreground(self) -> None:
        """Takes the terminal back."""

    def interrupt(self) -> None:
        """Does what Ctrl-C does."""

    def suspend_with(self) -> None:
        """Suspends client and program until the shell lets them go on."""

    def end(self) -> None:
        """Kills it."""


class Session:
    """At most one program, and what is known of it.

    :param on_event: called with an event's name and body while the program runs
    """

    def __init__(self, on_event: Callable[[str, dict[str, Any]], None]) -> None:
        self.program: Program | None = None
        self.stop: Stop | None = None
        self.focus: Focus | None = None
        self.frame_index = 0
        self.last_status: int | None = None
        self._frames: list[Frame] = []
        self._on_event = on_event

    def begin(self, program: Program, configure: Callable[[], None]) -> Stop | Ended:
        """Runs a program that has connected until its first stop, or its end.

        :param configure: called when breakpoints can be sent
        """
        self.program = program
        try:
            connection = program.connection
            connection.request("initialize", {"clientID": "cudasim", "clientName": "cudasim debug", "adapterID": "cudasim",
                                              "linesStartAt1": True, "columnsStartAt1": True, "pathFormat": "path",
                                              "supportsVariableType": True, "supportsMemoryReferences": True})  # fmt: skip
            connection.send("attach", {})
            ended = self._await_initialized()
            if ended is not None:
                return ended
            configure()
            return self._run("configurationDone", {})
        except ConnectionLost as error:
            return self._end(str(error))
        except DapError as error:
            self.kill()
            raise CommandError(f"The program cannot be debugged: {error}") from None
        except BaseException:
            self.kill()
            raise

    def _await_initialized(self) -> Ended | None:
        assert self.program is not None
        while True:
            kind, value = self.program.notices.get()
            if kind == "event" and value.get("event") == "initialized":
                return None
            if kind == "exited":
                return self._end("", has_exited=True)
            if kind == "lost":
                return self._end(str(value))

    def request(self, command: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Asks the program; the response's body.

        :raises CommandError: where it refuses, or no program runs
        """
        if self.program is None:
            raise CommandError(NOTHING_RUNS)
        try:
            return self.program.connection.request(command, arguments)
        except DapError as error:
            raise CommandError(str(error)) from None

    def resume(self, command: str, arguments: dict[str, Any]) -> Stop | Ended:
        """Lets the program go on by a request, until it stops again or ends.

        :raises CommandError: where it refuses; then the stop is as it was
        """
        if self.program is None:
            raise CommandError(NOTHING_RUNS)
        before = (self.stop, self.focus, self.frame_index, self._frames)
        self.stop, self.focus, self.frame_index, self._frames = None, None, 0, []
        self.program.run_in_foreground()
        try:
            return self._run(command, arguments)
        except ConnectionLost as error:
            return self._end(str(error))
        except DapError as error:
            self.stop, self.focus, self.frame_index, self._frames = before
            raise CommandError(str(error)) from None

    def _run(self, command: str, arguments: dict[str, Any]) -> Stop | Ended:
        program = self.program
        assert program is not None
        program.connection.send(command, arguments).add_done_callback(
            lambda future: program.notices.put(("answered", future))
        )
        try:
            return self._next_stop(program)
        finally:
            program.leave_foreground()

    def _next_stop(self, program: Program) -> Stop | Ended:
        while True:
            try:
                kind, value = program.notices.get()
            except KeyboardInterrupt:  # Ctrl-C came to the client, which has the terminal or has none.
                program.interrupt()
                continue
            if kind == "answered":
                if isinstance(error := value.exception(), DapError):
                    raise error
            elif kind == "event":
                name, body = value.get("event"), value.get("body")
                if name == "stopped":
                    self.stop = Stop.from_body(body if isinstance(body, dict) else {})
                    self.focus = self.stop.focus
                    return self.stop
                if name == "terminated":
                    return self._end("", in_peace=True)
                self._tell(value)
            elif kind == "suspended":
                program.suspend_with()
            elif kind == "exited":
                return self._end("", has_exited=True)
            elif kind == "lost":
                return self._end(str(value))

    def poll(self) -> Ended | None:
        """What happened while the program stood: events are told, and its end is noticed."""
        program = self.program
        while program is not None and not program.notices.empty():
            kind, value = program.notices.get()
            if kind == "exited":
                return self._end("", has_exited=True)
            if kind == "lost":
                return self._end(str(value))
            if kind == "event":
                self._tell(value)
        return None

    def _tell(self, event: dict[str, Any]) -> None:
        body = event.get("body")
        self._on_event(str(event.get("event")), body if isinstance(body, dict) else {})

    def kill(self) -> None:
        """Ends the program by force."""
        if self.program is not None:
            self.program.end()
        self._forget()

    def _end(self, lost: str, in_peace: bool = False, has_exited: bool = False) -> Ended:
        """Waits for the process. One that has closed its connection without a word is killed after a while."""
        program = self.program
        assert program is not None
        killed = ""
        while not has_exited:
            try:
                kind, value = program.notices.get(timeout=None if in_peace else _TIME_TO_END)
            except KeyboardInterrupt:
                program.interrupt()
            except queue.Empty:
                killed = lost or "the connection ended"
                break
            else:
                has_exited = kind == "exited"
                if kind == "suspended":
                    program.suspend_with()
                elif kind == "event":
                    self._tell(value)
        program.end()
        self.last_status = program.status
        self._forget()
        return Ended(program.status, killed)

    def _forget(self) -> None:
        self.program = self.stop = self.focus = None
        self.frame_index, self._frames = 0, []

    def thread(self) -> Focus:
        """The thread in focus.

        :raises CommandError: where no kernel is stopped
        """
        if self.program is None:
            raise CommandError(NOTHING_RUNS)
        if self.focus is None:
            raise CommandError(NO_KERNEL)
        return self.focus

    def set_focus(self, **where: Any) -> Focus:
        """Another thread: block and thread, as linear indices or coordinates."""
        before = self.thread()
        body = self.request("cudasim/focus", where)
        self.focus = Focus.from_body(body, int(body.get("threadId") or 0), before)
        self.frame_index, self._frames = 0, []
        return self.focus

    def frames(self) -> list[Frame]:
        """The functions that the thread in focus is in, innermost first; empty where it has not started or is over.

        Behind the kernel's functions stand those of the host that launch it.
        """
        focus = self.thread()
        if not self._frames and focus.file:
            body = self.request("stackTrace", {"threadId": focus.thread_id})
            self._frames = [Frame.from_body(one) for one in body.get("stackFrames") or []]
        return self._frames

    def frame(self) -> Frame:
        """The selected one.

        :raises CommandError: where there is no stack
        """
        frames = self.frames()
        if not frames:
            has_not_started = self.thread().state == "not started"
            raise CommandError(f"No stack: the thread {'has not started' if has_not_started else 'is over'}.")
        return frames[min(self.frame_index, len(frames) - 1)]

    def frame_arguments(self) -> dict[str, Any]:
        """The selected frame's number as a request's argument; nothing where the thread has no frame."""
        return {"frameId": self.frame().id} if self.frames() else {}

    def frames_changed(self) -> None:
        """The stack is asked for again, because a value was set."""
        self._frames = []
