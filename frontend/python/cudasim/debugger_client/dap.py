"""The Debug Adapter Protocol over a socket: framing, requests with futures, and a thread that reads.

What the other side sends by itself goes into a queue of notices: ("event", message) for events, ("lost", error) at the
connection's end.
"""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, BinaryIO

#: Longer messages are taken for a broken connection.
LONGEST_MESSAGE = 1 << 30
_LONGEST_HEADER_LINE = 4096


class DapError(Exception):
    """The other side refused a request; the text is its message."""


class ConnectionLost(Exception):
    """The connection ended, or what came was no message."""


class MalformedBody(ConnectionLost):
    """What came was no message, but its header was right: the stream stands at the next one."""


def encoded(message: dict[str, Any]) -> bytes:
    """A message with its header."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def read_message(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message; None where the stream ends between messages.

    :raises MalformedBody: for a body that is no JSON object; the next message can be read
    :raises ConnectionLost: for anything else that is no message
    """
    length = None
    first = True
    while True:
        line = stream.readline(_LONGEST_HEADER_LINE)
        if not line:
            if first:
                return None
            raise ConnectionLost("the connection ended within a message")
        first = False
        if not line.endswith(b"\n"):
            raise ConnectionLost("a message has a header line without an end")
        line = line.strip()
        if not line:
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                raise ConnectionLost(f"a message has the length {value.strip().decode(errors='replace')!r}")
            length = int(value)
    if length is None:
        raise ConnectionLost("a message has no length")
    if length > LONGEST_MESSAGE:
        raise ConnectionLost(f"a message is to have {length} bytes")
    body = stream.read(length)
    if len(body) < length:
        raise ConnectionLost("the connection ended within a message")
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedBody("a message is not JSON") from None
    if not isinstance(message, dict):
        raise MalformedBody("a message is no JSON object")
    return message


class Connection:
    """Requests to the debugged program, and what it answers."""

    def __init__(self, connected: socket.socket, notices: queue.SimpleQueue) -> None:
        self._socket = connected
        self._stream = connected.makefile("rb")
        self._notices = notices
        self._lock = threading.Lock()
        self._sequence = 0
        self._waiting: dict[int, Future] = {}
        self._lost: ConnectionLost | None = None
        self._reader = threading.Thread(target=self._read, name="cudasim debug: reader", daemon=True)
        self._reader.start()

    @property
    def is_lost(self) -> bool:
        """Whether the connection has ended."""
        return self._lost is not None

    def send(self, command: str, arguments: dict[str, Any] | None = None) -> Future:
        """Sends a request. Its future gives the response's body, or raises DapError or ConnectionLost."""
        future: Future = Future()
        with self._lock:
            if self._lost is not None:
                future.set_exception(self._lost)
                return future
            self._sequence += 1
            self._waiting[self._sequence] = future
            message = {
                "seq": self._sequence,
                "type": "request",
                "command": command,
                "arguments": arguments or {},
            }
            try:
                self._socket.sendall(encoded(message))
            except OSError:
                pass  # The reader notices the connection's end and fails all futures.
        return future

    def request(self, command: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Sends a request and waits for the response's body."""
        return self.send(command, arguments).result()

    def cancel(self, future: Future) -> Future | None:
        """Asks the other side to give a request up. Its answer; None where the request has been answered."""
        with self._lock:
            number = next((number for number, waiting in self._waiting.items() if waiting is future), None)
        return None if number is None else self.send("cancel", {"requestId": number})

    def drain(self, seconds: float) -> None:
        """Waits until everything that was sent has been read, then ends the connection.

        A process that the program forked may still hold the other end, so the wait has a limit.
        """
        self._reader.join(seconds)
        self.close()

    def close(self) -> None:
        """Ends the connection. Requests without an answer fail."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(5)
        self._fail(ConnectionLost("the connection is closed"))
        self._socket.close()

    def _read(self) -> None:
        error = ConnectionLost("the program closed the connection")
        try:
            with self._stream:
                while (message := read_message(self._stream)) is not None:
                    self._take(message)
        except ConnectionLost as malformed:
            error = malformed
        except OSError as broken:
            error = ConnectionLost(broken.strerror or "the connection broke")
        self._fail(error)
        self._notices.put(("lost", error))

    def _fail(self, error: ConnectionLost) -> None:
        with self._lock:
            self._lost = self._lost or error
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(error)

    def _take(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "event":
            self._notices.put(("event", message))
        elif kind == "response":
            with self._lock:
                future = self._waiting.pop(message.get("request_seq", 0), None)
            if future is not None:
                _answer(future, message)
        elif kind == "request":
            command = message.get("command")
            refusal = {"seq": 0, "type": "response", "request_seq": message.get("seq"), "success": False,
                       "command": command, "message": f"this client does not support {command}",
                       "body": {"error": {"id": 1, "format": "this client does not support the request"}}}  # fmt: skip
            with self._lock, contextlib.suppress(OSError):
                self._socket.sendall(encoded(refusal))


def _answer(future: Future, message: dict[str, Any]) -> None:
    if message.get("success"):
        body = message.get("body")
        future.set_result(body if isinstance(body, dict) else {})
    else:
        command = message.get("command", "a request")
        future.set_exception(DapError(str(message.get("message") or f"{command} failed, without a reason")))
