"""Work in a forked child process, whose end or crash is no concern of its parent's."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

#: How many seconds a child has beyond those that its work may take: to start, to compile, to send its answer.
GRACE_SECONDS = 10
#: The status of a child whose work has raised an exception.
_FAILED = 3


class Answer(NamedTuple):
    """What a child has sent, or how it ended without sending anything."""

    data: bytes | None
    how: str  #: "did not end", "was ended by SIGSEGV", "failed: ..."; empty where there are data


_forking: set[int] = set()  # threads that fork for in_child(); in the child its only thread


def is_repetition() -> bool:
    """Whether this thread is about to fork for in_child(), or this is such a child. For handlers of os.register_at_fork()."""
    return threading.get_ident() in _forking


def in_child(work: Callable[[], bytes], seconds: float) -> Answer:
    """Runs the work in a forked child, which prints nothing and leaves nothing behind.

    :param work: returns what the child sends
    :param seconds: that it may take; then the child is killed
    """
    own = os.getpid()
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    _forking.add(threading.get_ident())
    try:
        child = os.fork()
    except (OSError, RuntimeError) as error:
        os.close(read_end)
        os.close(write_end)
        return Answer(None, f"was not run, because this process cannot be forked: {error}")
    finally:
        if os.getpid() == own:
            _forking.discard(threading.get_ident())
    if child == 0:
        _answer(work, read_end, write_end)
    os.close(write_end)
    try:
        data = _read_all(read_end, seconds + GRACE_SECONDS)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(read_end)
    if data is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if data is None:
        return Answer(None, "did not end")
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and data:
        return Answer(data, "")
    if code == _FAILED and data:
        return Answer(None, f"failed: {data.decode(errors='replace')}")
    return Answer(None, f"was ended by {signal_name(-code)}" if code < 0 else f"ended with status {code}")


def signal_name(number: int) -> str:
    """What a signal is called: "SIGSEGV", "signal 35"."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _answer(work, read_end, write_end):
    """In the child. Never returns: no buffer is flushed, nothing is cleaned up."""
    status = 1  # where not even that can be said
    try:
        os.close(read_end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        try:
            data, ended = work(), 0
        except Exception as error:  # noqa: BLE001 - the parent tells it
            data, ended = _text_of(error), _FAILED
        while data:
            data = data[os.write(write_end, data) :]
        status = ended
    finally:
        os._exit(status)


def _text_of(error):
    """The first line of an exception and its class, as the end of a traceback has them."""
    first = str(error).partition("\n")[0]
    return f"{type(error).__name__}{': ' if first else ''}{first}".encode(errors="replace")


def _read_all(descriptor, seconds):
    """All that comes until the other end is closed; None when that takes longer."""
    deadline = time.monotonic() + seconds
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
