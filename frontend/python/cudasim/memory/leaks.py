"""Memory that a program takes from the driver and never gives back, where the option check looks for leaks.

Only what the program asked for itself counts: cuMemAlloc() and its like, and IPC handles. Device arrays free their
memory when nobody refers to them any more.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from cudasim import _cuda_errors, options
from cudasim.reports import collecting, host_findings
from cudasim.reports.tracebacks import is_package_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from cudasim.findings import SourceLocation


class Allocation(NamedTuple):
    """Memory that is to be given back."""

    number: int  #: in the order of the calls
    call: str  #: "cuMemAlloc"
    size: int  #: in bytes; 0: not known
    remedy: str  #: the call that gives it back
    place: SourceLocation
    names: dict[str, Any]


_live: dict[int, Allocation] = {}
_lock = threading.Lock()
_count = 0
_expected = threading.local()


def is_on() -> bool:
    """Whether the option check looks for leaks."""
    return "leaks" in options.get("check")


def taken(address: int, call: str, size: int, remedy: str, by_program: bool = False) -> None:
    """The calling program has got memory. Nothing happens where cudasim itself has asked for it.

    :param by_program: it is known that the program has asked
    """
    global _count
    if not is_on() or not (by_program or _called_by_program()):
        return
    place, names = host_findings.users_place()
    with _lock:
        if _count == 0:
            atexit.register(report)
        _count += 1
        _live[address] = Allocation(
            _count,
            call,
            size,
            remedy,
            place,
            names,
        )


def given_back(address: int) -> None:
    """The memory is not to be reported."""
    if _live:
        with _lock:
            _live.pop(address, None)


def taken_so_far() -> int:
    """For report(): what is taken from here on."""
    return _count


def report(since: int = 0) -> None:
    """A finding for each call in the program that took memory which was not given back. It is told once.

    :param since: what taken_so_far() said
    """
    with _lock:
        lost = {address: each for address, each in _live.items() if each.number > since}
        for address in lost:
            del _live[address]
    of_call: dict[tuple[SourceLocation, str], list[Allocation]] = {}
    for each in lost.values():
        of_call.setdefault((each.place, each.call), []).append(each)
    for (place, call), taken_there in of_call.items():
        count, size, names = len(taken_there), sum(each.size for each in taken_there), taken_there[0].names
        calls = f"{call}()" if count == 1 else f"{count} calls of {call}()"
        what = f"{size} byte{'s' * (size != 1)} of {calls} are" if size else f"the memory of {calls} is"
        message = f"{what} never given back; {taken_there[0].remedy}() does"
        host_findings.report("memory-leak", message, place, names, count)


def failed(error: Any) -> None:
    """A call of the driver has failed; whether the program catches the error does not matter."""
    if getattr(_expected, "depth", 0) or not is_on():
        return
    host_findings.report("failed-call", f"a call of the CUDA driver failed: {error}")


@contextlib.contextmanager
def expected_failures() -> Iterator[None]:
    """Within it calls of the driver may fail without being reported: whoever makes them takes that for an answer."""
    _expected.depth = getattr(_expected, "depth", 0) + 1
    try:
        yield
    finally:
        _expected.depth -= 1


def _called_by_program():
    """Whether the function of this package that called here was called by the program itself."""
    frame: FrameType | None = sys._getframe(2)
    own = (__name__, "cudasim.memory.memory_calls", "cudasim.driver.driver_object")
    while frame is not None and frame.f_globals.get("__name__") in own:
        frame = frame.f_back
    return frame is not None and not is_package_code(frame.f_code)


# What was taken before a fork is to be given back by the parent.
os.register_at_fork(after_in_child=lambda: _live.clear())
_cuda_errors.on_failure = failed
collecting.at_the_end(taken_so_far, report)
