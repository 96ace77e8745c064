"""A program under the debugger: its start, its runs from stop to stop, the thread in focus and its frames.

There is one state that matters to commands: a kernel is stopped, or none is. While the program runs nobody asks for
commands, so a run returns when the program has stopped or ended.
"""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING, Protocol

from cudasim.debugger_client.dap import ConnectionLost, DapError
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import Ended, Focus, Frame, Stop

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
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

    @property
    def is_attached(self) -> bool:
        """Whether the client did not start it: its end cannot be waited for, and it goes on when the client ends."""

    def interrupt(self) -> float | None:
        """Does what Ctrl-C does; how many seconds later the client asks for commands, None: at the next stop."""

    def release(self) -> None:
        """Lets it go on without the debugger."""

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

    def begin(self, program: Program, configure: Callable[[], None]) -> Stop | Ended | None:
        """Runs a program that has connected until its first stop, or its end.

        :param configure: called when breakpoints can be sent
        """
        return self._begun(program, configure, lambda: self._run("configurationDone", {}))

    def attach(self, program: Program, configure: Callable[[], None]) -> Stop | Ended | None:
        """The same for a program that runs already: a kernel that runs stops, None where none does."""

        def go_on() -> Stop | Ended | None:
            self.request("configurationDone")
            return self._next_stop(program, program.interrupt())

        return self._begun(program, configure, go_on)

    def _begun(self, program: Program, configure: Callable[[], None], go_on: Any) -> Any:
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
            return go_on()
        except ConnectionLost as error:
            while self.program is not None and not program.notices.empty():  # what it said before
                kind, value = program.notices.get()
                if kind == "event":
                    self._tell(value)
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
            if kind == "event":
                self._tell(value)
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
        connection = self.program.connection
        future = connection.send(command, arguments)
        try:
            return future.result()
        except KeyboardInterrupt:
            return _given_up(connection, future)
        except DapError as error:
            raise CommandError(str(error)) from None

    def resume(self, command: str, arguments: dict[str, Any]) -> Stop | Ended | None:
        """Lets the program go on by a request, until it stops again or ends. None as of wait().

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

    def _run(self, command: str, arguments: dict[str, Any]) -> Stop | Ended | None:
        program = self.program
        assert program is not None
        program.connection.send(command, arguments).add_done_callback(
            lambda future: program.notices.put(("answered", future))
        )
        try:
            return self._next_stop(program)
        finally:
            program.leave_foreground()

    def wait(self) -> Stop | Ended | None:
        """Waits for a program that runs to stop, or to end. None: Ctrl-C, and no kernel runs.

        :raises CommandError: where no program runs
        """
        if self.program is None:
            raise CommandError(NOTHING_RUNS)
        self.program.run_in_foreground()
        try:
            return self._next_stop(self.program)
        finally:
            if self.program is not None:
                self.program.leave_foreground()

    def detach(self) -> Ended | None:
        """Lets the program go on without the debugger. One that the client has started runs to its end in the foreground.

        :raises CommandError: where no program runs
        """
        program = self.program
        if program is None:
            raise CommandError(NOTHING_RUNS)
        program.run_in_foreground()
        program.release()
        if not program.is_attached:
            return self._end("", in_peace=True)
        self._forget()
        return None

    def _next_stop(self, program: Program, seconds: float | None = None) -> Stop | Ended | None:
        """None: neither a stop nor the end has come within these seconds."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                left = None if until is None else max(until - time.monotonic(), 0)
                kind, value = program.notices.get(timeout=left)
            except queue.Empty:
                return None
            except KeyboardInterrupt:  # Ctrl-C came to the client, which has the terminal or has none.
                seconds = program.interrupt()
                until = None if seconds is None else time.monotonic() + seconds
                continue
            if kind == "answered":
                if isinstance(error := value.exception(), DapError):
                    raise error
            elif kind == "event":
                name, body = value.get("event"), value.get("body")
                if name == "stopped":
                    return self._stopped(body)
                if name == "terminated":
                    return self._end("", in_peace=True)
                self._tell(value)
            elif kind == "suspended":
                program.suspend_with()
            elif kind == "exited":
                return self._end("", has_exited=True)
            elif kind == "lost":
                return self._end(str(value))

    def _stopped(self, body: Any) -> Stop:
        self.stop = Stop.from_body(body if isinstance(body, dict) else {})
        self.focus = self.stop.focus
        self.frame_index, self._frames = 0, []
        return self.stop

    def poll(self) -> Stop | Ended | None:
        """What happened while commands were typed: events are told, its end is noticed, and a stop where it ran on."""
        program = self.program
        while program is not None and not program.notices.empty():
            kind, value = program.notices.get()
            if kind == "exited":
                return self._end("", has_exited=True)
            if kind == "lost":
                return self._end(str(value))
            if kind == "event" and value.get("event") == "stopped":
                return self._stopped(value.get("body"))
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


def _given_up(connection: Connection, future: Future) -> dict[str, Any]:
    """Ctrl-C while a request is done: the program gives it up. Its body where it is done all the same.

    :raises KeyboardInterrupt: when it was given up, or after another Ctrl-C
    :raises CommandError: where it cannot be
    """
    answer = connection.cancel(future)
    try:
        if answer is not None:
            answer.result()
        return future.result()
    except DapError as error:
        if answer is not None and answer.exception() is error:
            raise CommandError(f"Quit; {error}.") from None
        raise KeyboardInterrupt from None
