"""Work in a forked child process, whose end or crash is no concern of its parent's."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

#: How many seconds a child has beyond those that its work may take: to start, to compile, to send its answer.
GRACE_SECONDS = 10


class Answer(NamedTuple):
    """What a child has sent, or how it ended without sending anything."""

    data: bytes | None
    how: str  #: "did not end", "ended with status -11"; empty where there are data


def in_child(work: Callable[[], bytes], seconds: float) -> Answer:
    """Runs the work in a forked child, which prints nothing and leaves nothing behind.

    :param work: returns what the child sends
    :param seconds: that it may take; then the child is killed
    """
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    child = os.fork()
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
    if code != 0 or not data:
        return Answer(None, f"ended with status {code}")
    return Answer(data, "")


def _answer(work, read_end, write_end):
    """In the child. Never returns: no buffer is flushed, nothing is cleaned up."""
    status = 1
    try:
        os.close(read_end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        data = work()
        while data:
            data = data[os.write(write_end, data) :]
        status = 0
    finally:
        os._exit(status)


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
