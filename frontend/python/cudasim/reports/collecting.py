"""Findings of launches as a list, where a program asks for one.

with cudasim.check("races") as found:
    kernel[grid, block](x)
assert not found
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from cudasim import options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cudasim.findings import Finding

_thread = threading.local()
_of_all_threads: list[list[Finding]] = []  # of blocks for all threads, innermost last
_around: list[Callable[[], contextlib.AbstractContextManager[None]]] = []
_at_the_end: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []


def check(checks: str | Iterable[str] = "all") -> Check:
    """Checks the launches of a `with` block, and gives what they find as a list instead of raising and warning.

    The list grows with each launch of this host thread; a block within another one has its own. Host arrays get what the kernel
    has computed, unless a thread faulted: then the launch counts as failed, and host arrays stay as they were.

    :param checks: as the option check takes them: "races", "memory,races", ["memory", "races"], "all"
    :raises OptionError: for an unknown check
    """
    return Check(checks)


class Check(contextlib.ContextDecorator):
    """What check() returns, for one `with` block, or as a decorator for every call of a function."""

    def __init__(self, checks: str | Iterable[str]) -> None:
        self._checks = checks
        self._block: contextlib.AbstractContextManager[list[Finding]] | None = None

    def __enter__(self) -> list[Finding]:
        if self._block is not None:
            raise RuntimeError(
                "this object of cudasim.check() has had its `with` block; call cudasim.check() again for another one"
            )
        self._block = _block(self._checks, _thread.__dict__.setdefault("lists", []))
        return self._block.__enter__()

    def __exit__(self, *raised: Any) -> bool | None:
        assert self._block is not None
        return self._block.__exit__(*raised)

    def _recreate_cm(self) -> Check:
        """What a decorated function uses for one call."""
        return Check(self._checks)


def check_all_threads(checks: str) -> contextlib.AbstractContextManager[list[Finding]]:
    """As check(), for the launches of every host thread that is in no block of its own."""
    return _block(checks, _of_all_threads)


@contextlib.contextmanager
def _block(checks, lists):
    found: list[Finding] = []
    with options.override(check=checks):
        lists.append(found)
        try:
            with contextlib.ExitStack() as stack:
                for manager in _around:
                    stack.enter_context(manager())
                marks = [(mark(), report) for mark, report in _at_the_end]
                yield found
                for mark, report in marks:
                    report(mark)
        finally:
            lists.pop()


def around(manager: Callable[[], contextlib.AbstractContextManager[None]]) -> None:
    """For what has to be there during a block: a context manager, entered with the option check as it is there."""
    _around.append(manager)


def at_the_end(mark: Callable[[], Any], report: Callable[[Any], None]) -> None:
    """For what is only known at the end of a block: report() gets what mark() said at its beginning."""
    _at_the_end.append((mark, report))


def collects() -> bool:
    """Whether this host thread is in such a block, or there is one for all threads."""
    return bool(getattr(_thread, "lists", None) or _of_all_threads)


def collect(findings: Iterable[Finding]) -> None:
    """Adds to the list of the innermost block."""
    (getattr(_thread, "lists", None) or _of_all_threads)[-1].extend(findings)
