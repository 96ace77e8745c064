"""Findings of launches as a list, where a program asks for one.

with cudasim.check("races") as found:
    kernel[grid, block](x)
assert not found
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from cudasim import options
from cudasim.memory import leaks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudasim.findings import Finding

_thread = threading.local()


@contextlib.contextmanager
def check(checks: str | Iterable[str] = "all") -> Iterator[list[Finding]]:
    """Checks the launches of a `with` block, and gives what they find as a list instead of raising and warning.

    The list grows with each launch of this host thread; a block within another one has its own. Host arrays get what the kernel
    has computed, unless a thread faulted: then the launch counts as failed, and host arrays stay as they were.

    :param checks: as the option check takes them: "races", "memory,races", ["memory", "races"], "all"
    :raises OptionError: for an unknown check
    """
    found: list[Finding] = []
    lists = _thread.__dict__.setdefault("lists", [])
    with options.override(check=checks):
        lists.append(found)
        before = leaks.taken_so_far()
        try:
            yield found
            leaks.report(before)
        finally:
            lists.pop()


def collects() -> bool:
    """Whether this host thread is in such a block."""
    return bool(getattr(_thread, "lists", None))


def collect(findings: Iterable[Finding]) -> None:
    """Adds to the list of the innermost block."""
    _thread.lists[-1].extend(findings)
