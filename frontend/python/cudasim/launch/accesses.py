"""Accesses to memory of kernels in Python mode, one by one, with what orders them.

For checks and their tests; no part of the public interface. Compiled kernels tell nothing here: what looks at their accesses is compiled
into them (simulator/jit/instrumentation.h).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from cudasim import _native
from cudasim.findings import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Iterator


class Event(NamedTuple):
    """Something that a simulated thread does, told before it happens."""

    #: An access: "read", "write", "update" (atomic), or "view" (NumPy has the range from here on). "shared
    #: memory", "local memory": an array begins to exist. "fence". "lane comes", "lane goes on": before and
    #: after a warp operation.
    what: str
    #: Linear indices: of the block, and of the thread in it.
    block: int
    thread: int
    #: Of shared and local arrays, those of the buffers that hold them.
    address: int
    bytes: int
    #: Of accesses and fences: "plain", "relaxed", "acquire", "release", "acquire_release" or "sequential".
    order: str
    #: Of accesses with an order and of fences: "thread", "block", "cluster", "device" or "system".
    scope: str
    volatile: bool
    #: The lanes of a warp operation.
    mask: int
    #: Innermost function first; empty where nobody asked for places.
    places: tuple[SourceLocation, ...]


class Log:
    """The events of launches."""

    def __init__(self, places: bool) -> None:
        self._native = _native.AccessLog(places)

    def events(self) -> list[Event]:
        """All events so far: those of a thread in their order, threads in the order in which they ran."""
        return [
            Event(*event[:-1], tuple(SourceLocation(*place) for place in event[-1]))
            for event in self._native.events()
        ]


@contextlib.contextmanager
def observed(places: bool = False) -> Iterator[Log]:
    """Launches in Python mode that begin inside tell of their accesses, in every thread of the host.

    :param places: whether events have their places in the source, which takes a while for each
    """
    log = Log(places)
    before = _native.set_access_log(log._native)
    try:
        yield log
    finally:
        _native.set_access_log(before)
